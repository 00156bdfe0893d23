import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../app/dialog.tsx";
import { queries } from "../app/queries.ts";
import { Refusal } from "../app/refusal.tsx";
import { keysQuery, rotateKey } from "./keys.ts";

const GRACES = [
  { value: "0", label: "At once" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
];

/** A new key for a workflow, and how long the old one goes on. */
export function RotateDialog(props: {
  readonly workflowId: string;
  readonly onRotated: (apiKey: string) => void;
  readonly onClose: () => void;
}) {
  const { workflowId, onRotated, onClose } = props;
  const [grace, setGrace] = useState("0");
  const rotate = useMutation({
    mutationFn: () => rotateKey(workflowId, Number(grace)),
    onSuccess({ apiKey }) {
      void queries.invalidateQueries({ queryKey: keysQuery(workflowId).queryKey });
      onRotated(apiKey);
      notifications.show({
        color: "green",
        title: "There is a new key",
        message: "Give it to the programs that call the workflow.",
      });
      onClose();
    },
  });
  return (
    <Dialog onClose={onClose} title="Regenerate the key">
      <Stack gap="md">
        <div>
          <Text size="sm" id="grace-label" mb={6}>
            The old key stops working
          </Text>
          <SegmentedControl
            fullWidth
            size="xs"
            data={GRACES}
            value={grace}
            onChange={setGrace}
            aria-labelledby="grace-label"
          />
        </div>
        <Text size="sm" c={grace === "0" ? "var(--state-failure)" : "dimmed"}>
          {grace === "0"
            ? "Every program that has the old key, or one before it, is refused (401) from this moment on, until it has the new one. Runs that are under way go on."
            : `For ${GRACES.find(({ value }) => value === grace)?.label} both keys work. After that, programs with the old one are refused (401). A key that was replaced before stops working now.`}
        </Text>
        <Refusal error={rotate.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            {...(grace === "0" ? { color: "red" } : {})}
            loading={rotate.isPending}
            onClick={() => rotate.mutate()}
          >
            Regenerate
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
