import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAct } from "../app/acting.ts";
import { say } from "../app/announcer.tsx";
import { Dialog } from "../app/dialog.tsx";
import type { Workflow } from "../workflows/workflows.ts";

/** Deletes a workflow once its name was typed: there is no way back. */
export function DeleteDialog({ workflow, onClose }: { workflow: Workflow; onClose: () => void }) {
  const { workflowId, name } = workflow;
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const remove = useAct({
    stale: ["workflows", "list"],
    refused: "The workflow was not deleted",
    onDone() {
      say(`${name} was deleted`);
      void navigate({ to: "/" });
    },
  });
  const isRight = typed.trim() === name;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isRight) remove.mutate({ path: `/api/workflows/${workflowId}`, method: "DELETE" });
  };
  return (
    <Dialog onClose={onClose} title={`Delete ${name}`}>
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm">
            Calls with its key are refused from now on, and its schedule ends. Runs under way go on. You cannot undo
            this.
          </Text>
          <TextInput
            label={`Type ${name} to confirm`}
            data-autofocus
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" color="red" disabled={!isRight} loading={remove.isPending}>
              Delete workflow
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
