import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { say } from "../app/announcer.tsx";
import { callApi } from "../app/api.ts";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { UsedBy } from "./used-by.tsx";
import { type Kind, pathOf, type Value } from "./values.ts";

/** Removes a value, once it was seen which workflows use it. The service refuses where one would miss it. */
export function RemovalDialog({ kind, value, onClose }: { kind: Kind; value: Value; onClose: () => void }) {
  const { name, usedBy } = value;
  const known = useQueryClient();
  const remove = useMutation({
    mutationFn: () => callApi(pathOf(kind, value), { method: "DELETE" }),
    onSuccess() {
      say(`${name} was removed`);
      onClose();
    },
    onSettled: () => known.invalidateQueries({ queryKey: ["values"] }),
  });
  return (
    <Dialog onClose={onClose} title={`Remove ${name}?`}>
      <Stack gap="md">
        <Text size="sm">
          {usedBy.length === 0 ? (
            "No workflow uses it. Its history stays."
          ) : (
            <>
              Used by <UsedBy workflows={usedBy} />. It stays as long as the latest commit of a workflow needs it.
            </>
          )}
        </Text>
        <Refusal error={remove.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red" loading={remove.isPending} onClick={() => remove.mutate()}>
            Remove
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
