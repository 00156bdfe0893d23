import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { messageOf } from "../../../domain/message-of.ts";
import { loadPart } from "../app/load-part.ts";
import { draftQuery } from "../code/drafts.ts";
import type { Workflow } from "../workflows/workflows.ts";

const MANIFEST_FILE = "config.yaml";

/** Where config.yaml has another name: that the next commit brings it back, and how to keep the new one. */
export function NameNote({ workflow: { workflowId, name, manifest } }: { workflow: Workflow }) {
  const known = useQueryClient();
  const navigate = useNavigate();
  const [isBusy, setBusy] = useState(false);
  const written = manifest?.name ?? name;
  if (written === name) return null;
  const write = async (): Promise<void> => {
    setBusy(true);
    try {
      const saving = await known.fetchQuery(draftQuery(workflowId));
      const { editName } = await loadPart(() => import("../../../domain/manifest/trigger-edit.ts"));
      const edit = editName(saving.getState().files.get(MANIFEST_FILE)?.text ?? "", name);
      if (!edit.ok) throw new Error(edit.message);
      saving.change({ path: MANIFEST_FILE, text: edit.text });
      await saving.saveNow();
      await navigate({ to: "/workflows/$workflowId/code", params: { workflowId }, search: { file: MANIFEST_FILE } });
    } catch (error) {
      notifications.show({ color: "red", title: "The draft was not changed", message: messageOf(error) });
      setBusy(false);
    }
  };
  return (
    <Group gap="sm" justify="space-between">
      <Text size="sm" c="var(--state-warning)">
        config.yaml calls it {written}. The next commit brings that name back.
      </Text>
      <Button variant="default" loading={isBusy} onClick={() => void write()}>
        Write the new name into my draft
      </Button>
    </Group>
  );
}
