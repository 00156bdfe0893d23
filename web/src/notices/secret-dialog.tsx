import { Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import type { RotatedSecret } from "../../../domain/api/notices.ts";
import { callApi } from "../app/api.ts";
import { OnceShown } from "../app/copy.tsx";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { type Place, pathOf } from "./notices.ts";

const GRACES = [
  { value: "0", label: "Nothing" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
];

/** Replaces what a webhook is signed with. */
export function SecretDialog({ place, onClose }: { readonly place: Place; readonly onClose: () => void }) {
  const { name } = place;
  const [grace, setGrace] = useState("86400");
  const known = useQueryClient();
  const rotate = useMutation({
    mutationFn: () =>
      callApi<z.infer<typeof RotatedSecret>>(pathOf(name, "/secrets"), {
        method: "POST",
        body: { graceSeconds: Number(grace) },
      }),
    gcTime: 0,
    onSettled: () => known.invalidateQueries({ queryKey: ["notices"] }),
  });
  if (rotate.data !== undefined) return <ShownSecret name={name} secret={rotate.data.secret} onClose={onClose} />;
  return (
    <Dialog onClose={onClose} title={`New secret of ${name}`}>
      <Stack gap="md">
        <NativeSelect
          label="The old secret signs as well for"
          description="Until then, messages have a signature of each, and the receiver may know either."
          data={GRACES}
          value={grace}
          onChange={(event) => setGrace(event.currentTarget.value)}
        />
        <Refusal error={rotate.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
            Make
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

/** The secret of a webhook, which is shown this once. */
export function ShownSecret(props: { readonly name: string; readonly secret: string; readonly onClose: () => void }) {
  const { name, secret, onClose } = props;
  return (
    <Dialog onClose={onClose} title={`The secret of ${name}`}>
      <Stack gap="md">
        <OnceShown
          label="Secret"
          value={secret}
          description="Copy it now: it is shown only once. The receiver checks signatures with it."
        />
        <Text size="sm" c="dimmed">
          Messages are signed as Standard Webhooks say. Their packages take the secret as it is.
        </Text>
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
