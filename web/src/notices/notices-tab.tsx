import { Stack, Text } from "@mantine/core";
import { PlaceSection } from "./place-section.tsx";
import { SentSection } from "./sent-section.tsx";

/** The places that get messages of runs, and what was sent there. */
export function NoticesTab() {
  return (
    <Stack gap="xl">
      <Text c="dimmed">
        A workflow sends messages to places when <code>notify</code> of its <code>config.yaml</code> names them: when a
        run fails, when the next one succeeds, when one takes long, and when a scheduled one did not start.
      </Text>
      <PlaceSection />
      <SentSection />
    </Stack>
  );
}
