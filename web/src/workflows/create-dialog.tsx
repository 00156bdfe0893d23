import { Button, Group, Loader, Radio, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { callApi } from "../app/api.ts";
import { Dialog } from "../app/dialog.tsx";
import { UploadIcon } from "../app/icons.tsx";
import { Refusal } from "../app/refusal.tsx";
import { templatesQuery } from "./workflows.ts";

const NAME_CHARACTERS_MAX = 100;
/** The template that the service has in any case, also where its examples cannot be read. */
const EMPTY = "empty";

interface CreateDialogProps {
  /** Opens the dialog that takes a script instead. */
  readonly onScript: () => void;
  readonly onClose: () => void;
}

/** Asks for a name and a template, makes the workflow, and opens its code. */
export function CreateDialog({ onScript, onClose }: CreateDialogProps) {
  const templates = useQuery(templatesQuery);
  const known = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [templateId, setTemplateId] = useState(EMPTY);
  const create = useMutation({
    mutationFn: () =>
      callApi<{ workflowId: string }>("/api/workflows", {
        method: "POST",
        body: { name: name.trim(), templateId },
      }),
    async onSuccess({ workflowId }) {
      void known.invalidateQueries({ queryKey: ["workflows"] });
      await navigate({ to: "/workflows/$workflowId/code", params: { workflowId }, search: { file: "main.py" } });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!create.isPending) create.mutate();
  };
  return (
    <Dialog onClose={onClose} title="New workflow" size="lg">
      <form onSubmit={submit}>
        <Stack gap="md">
          <TextInput
            label="Name"
            required
            data-autofocus
            maxLength={NAME_CHARACTERS_MAX}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Radio.Group label="Template" value={templateId} onChange={setTemplateId}>
            <Stack gap={8} mt={6}>
              {templates.isPending && <Loader aria-label="The templates are loading" />}
              {templates.data?.map((template) => (
                <Radio
                  key={template.templateId}
                  value={template.templateId}
                  label={template.name}
                  description={template.description}
                />
              ))}
            </Stack>
          </Radio.Group>
          {templates.isError && (
            <Text size="sm" c="dimmed">
              The templates could not be listed. You can still create an empty workflow.
            </Text>
          )}
          <Refusal error={create.error} />
          <Group justify="space-between" gap="xs">
            <Button variant="subtle" leftSection={<UploadIcon />} onClick={onScript}>
              Bring your script
            </Button>
            <Group gap="xs">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending}>
                Create
              </Button>
            </Group>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
