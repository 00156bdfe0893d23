import { Stack, Text } from "@mantine/core";
import { type Role, useSession } from "../app/session.ts";
import { DestinationSection } from "./destination-section.tsx";
import { ValueSection } from "./value-section.tsx";

const NOTES: Readonly<Record<Role, string>> = {
  owner: "",
  member: "Owners of the account set those of all workflows.",
  viewer: "Owners set them; members, too, set those of a workflow.",
};

/** Secrets and variables of the account, and of its workflows. */
export function ValuesTab() {
  const { role } = useSession();
  return (
    <Stack gap="xl">
      <Text c="dimmed">
        Programs find them in their environment once <code>config.yaml</code> names them. A secret is shown to nobody
        again, a variable to every member. {NOTES[role]}
      </Text>
      <ValueSection kind="secret" />
      <ValueSection kind="variable" />
      <DestinationSection />
    </Stack>
  );
}
