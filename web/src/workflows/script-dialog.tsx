import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { z } from "zod";
import type { ScriptFolder } from "../../../domain/api/scripts.ts";
import type { FileProblem } from "../../../domain/errors.ts";
import { parseManifest } from "../../../domain/manifest/parse.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { TextWithCode } from "../app/text-with-code.tsx";
import { TEST_PANE } from "../code/test-pane-choice.ts";
import { BuildProgress } from "../commits/build-progress.tsx";
import { usePublishing } from "../commits/publishing.ts";
import classes from "./script-dialog.module.css";
import { type GivenScript, ScriptSource } from "./script-source.tsx";

/** What the service has made of a script. */
type Folder = z.infer<typeof ScriptFolder> & { readonly script: string };

/** A workflow whose draft has these files. */
interface Drafted {
  readonly workflowId: string;
  readonly version: number;
}

/** Takes one script, shows what makes a workflow of it, and opens its code or commits it. */
export function ScriptDialog({ onClose }: { onClose: () => void }) {
  const read = useMutation({
    mutationFn: async (script: GivenScript): Promise<Folder> => {
      const { files, notes } = await callApi<z.infer<typeof ScriptFolder>>("/api/scripts", {
        method: "POST",
        body: { name: script.name, text: script.text },
      });
      return { files, notes, script: script.name };
    },
  });
  return (
    <Dialog onClose={onClose} title="Bring your script" size="lg" closeOnClickOutside={false}>
      {read.data === undefined ? (
        <Stack gap="md">
          <Text>
            Inputs are found from its <code>main</code> or from argparse, click or typer, packages from its imports. It
            is read and not run.
          </Text>
          <ScriptSource busy={read.isPending} onGiven={read.mutate} />
          <Unreadable error={read.error} />
        </Stack>
      ) : (
        <Found folder={read.data} onAnother={read.reset} onClose={onClose} />
      )}
    </Dialog>
  );
}

/** Why the script cannot be read, with its line. */
function Unreadable({ error }: { error: Error | null }) {
  const details = error instanceof ApiError ? (error.details as unknown as readonly Partial<FileProblem>[]) : [];
  return (
    <>
      <Refusal error={error} />
      {details.map(({ file, line, column, message }, at) => (
        <Text key={at} size="sm">
          {file !== undefined && <code>{`${file}:${line}:${column}`}</code>} <TextWithCode text={message ?? ""} />
        </Text>
      ))}
    </>
  );
}

interface FoundProps {
  readonly folder: Folder;
  readonly onAnother: () => void;
  readonly onClose: () => void;
}

/** The files that make a workflow of the script, and what to do with them. */
function Found({ folder, onAnother, onClose }: FoundProps) {
  const { files, notes, script } = folder;
  const made = files.filter(({ path }) => path !== script);
  const { drafted, draft, refused, isBusy } = useDraft(folder);
  const publishing = usePublishing(drafted?.workflowId ?? "");
  const open = useOpen(onClose);
  const [isCommitting, setCommitting] = useState(false);
  const commit = async (): Promise<void> => {
    setCommitting(true);
    const begun = await draft();
    if (begun !== undefined) {
      const body = { message: `Begin with ${script}`, version: begun.version, expectedHead: null };
      const end = await publishing.publish(`/api/workflows/${begun.workflowId}/commits`, body);
      if (end.kind === "committed") await open.form(begun.workflowId);
    }
    setCommitting(false);
  };
  const openCode = async (): Promise<void> => {
    const begun = await draft();
    if (begun !== undefined) await open.code(begun.workflowId, script);
  };
  const { state } = publishing;
  return (
    <Stack gap="md">
      {made.map(({ path, text }) => (
        <section key={path} aria-labelledby={`found-${path}`}>
          <h3 id={`found-${path}`} className={classes.fileName}>
            {path}
          </h3>
          {/* It can be scrolled with the keyboard, too. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre className={classes.file} tabIndex={0} role="region" aria-label={`Found: ${path}`}>
            {text}
          </pre>
        </section>
      ))}
      {notes.map((note) => (
        <Alert key={note} color="yellow" variant="light" p="xs">
          {note}
        </Alert>
      ))}
      <Refusal error={refused} />
      <BuildProgress state={state} />
      {state.kind === "failed" && <Problems problems={state.problems} />}
      <Group justify="space-between" gap="xs">
        <Button variant="subtle" disabled={drafted !== undefined} onClick={onAnother}>
          Another script
        </Button>
        <Group gap="xs">
          <Button
            variant="default"
            disabled={isCommitting}
            loading={isBusy && !isCommitting}
            onClick={() => void openCode()}
          >
            Open the code
          </Button>
          <Button data-autofocus loading={isCommitting} onClick={() => void commit()}>
            Commit
          </Button>
        </Group>
      </Group>
    </Stack>
  );
}

function Problems({ problems }: { problems: readonly FileProblem[] }) {
  return (
    <ul className={classes.problems}>
      {problems.map(({ file, line, column, message }, at) => (
        <li key={at}>
          <code>{`${file}:${line}:${column}`}</code> <TextWithCode text={message} />
        </li>
      ))}
    </ul>
  );
}

/** Makes the workflow and puts the files into its draft, once: what was made before a refusal is used again. */
function useDraft({ files, script }: Folder) {
  const known = useQueryClient();
  const [workflowId, setWorkflowId] = useState<string>();
  const make = useMutation({
    mutationFn: async (): Promise<Drafted> => {
      const id = workflowId ?? (await createWorkflow(nameOf(files, script)));
      setWorkflowId(id);
      const path = `/api/workflows/${id}/draft`;
      const changes = files.map((file) => ({ path: file.path, text: file.text }));
      const { version } = await callApi<{ version: number }>(path, { method: "PATCH", body: { version: 0, changes } });
      return { workflowId: id, version };
    },
    onSuccess: () => void known.invalidateQueries({ queryKey: ["workflows"] }),
  });
  const draft = async (): Promise<Drafted | undefined> => make.data ?? make.mutateAsync().catch(() => undefined);
  return { drafted: make.data, draft, refused: make.error, isBusy: make.isPending };
}

async function createWorkflow(name: string): Promise<string> {
  return (await callApi<{ workflowId: string }>("/api/workflows", { method: "POST", body: { name } })).workflowId;
}

/** As config.yaml says. */
function nameOf(files: Folder["files"], script: string): string {
  const parsed = parseManifest(files.find(({ path }) => path === "config.yaml")?.text ?? "");
  return (parsed.ok ? parsed.manifest.name : undefined) ?? script;
}

/** The ways on: to the code with its form beside it, or to the form of the commit. */
function useOpen(onClose: () => void) {
  const navigate = useNavigate();
  const [, setTestPane] = useLocalStorage(TEST_PANE);
  return {
    async code(workflowId: string, file: string): Promise<void> {
      setTestPane(true);
      onClose();
      await navigate({ to: "/workflows/$workflowId/code", params: { workflowId }, search: { file } });
    },
    async form(workflowId: string): Promise<void> {
      onClose();
      await navigate({ to: "/workflows/$workflowId/run", params: { workflowId } });
    },
  };
}
