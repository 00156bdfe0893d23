import { Button, Group, Kbd, Text } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import type { InputProblem } from "../../../domain/errors.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { ApiError } from "../app/api-error.ts";
import { PlayIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { InputForm } from "./input-form.tsx";
import { LeaveGuard } from "./leave-guard.tsx";
import { RunProblem } from "./run-problem.tsx";
import { type Sent, sendForm } from "./sending.ts";
import { chosenBytes, type FormValues, type ReadForm } from "./values.ts";

const SendingProgress = lazy(() =>
  loadPart(() => import("./sending-progress.tsx")).then((loaded) => ({ default: loaded.SendingProgress })),
);

const NONE: readonly InputProblem[] = [];

interface RunPane {
  /** Called before the form is sent. False: it cannot be sent now, and the page says why. */
  prepare(): Promise<boolean>;
  /** Called instead of opening the run's page. */
  onStarted(executionId: string): void;
}

/**
 * Shows a form that starts an execution. Sends its values to `path`, shows the progress of uploads, and opens the
 * execution's page as soon as there is one. `words` is the label of the button; `note` stands beside it.
 */
export function RunForm(props: {
  readonly path: string;
  readonly inputs: readonly Input[];
  readonly begin: FormValues;
  readonly words?: string;
  readonly note?: ReactNode;
  readonly onChange?: (values: FormValues) => void;
  /** For a form beside the code: it stays, and shows the run itself. */
  readonly pane?: RunPane;
}) {
  const { path, inputs, begin, words = "Run", note, pane } = props;
  const sending = useSending(path, pane);
  const mayRun = useMayChange();
  const button = useRef<HTMLButtonElement>(null);
  // Beside the code, also while one writes it.
  useHotkeys([["mod+Enter", () => button.current?.click()]], [], pane !== undefined);
  return (
    <InputForm
      inputs={inputs}
      begin={begin}
      refused={sending.refused}
      disabled={sending.sent !== undefined || !mayRun}
      onSubmit={sending.send}
      {...(props.onChange === undefined ? {} : { onChange: props.onChange })}
    >
      <LeaveGuard isBusy={sending.sendsFiles} />
      <RunProblem error={sending.error} inputs={inputs} />
      {sending.sent !== undefined && sending.sent.total > 0 && (
        <Suspense>
          <SendingProgress sent={sending.sent} onCancel={sending.cancel} />
        </Suspense>
      )}
      <Group mt="lg" gap="sm">
        {mayRun && (
          <>
            <Button
              ref={button}
              type="submit"
              size="sm"
              leftSection={<PlayIcon />}
              loading={sending.sent !== undefined}
            >
              {words}
            </Button>
            <Text size="sm" c="dimmed" visibleFrom="sm">
              <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd>
            </Text>
            {note}
          </>
        )}
        {!mayRun && <Text c="dimmed">Viewers of an account cannot run its workflows.</Text>}
      </Group>
    </InputForm>
  );
}

function useSending(path: string, pane: RunPane | undefined) {
  const navigate = useNavigate();
  const known = useQueryClient();
  const [sent, setSent] = useState<Sent>();
  const [error, setError] = useState<unknown>();
  const attempt = useRef<{ form: string; key: string }>(undefined);
  const stop = useRef<AbortController>(undefined);
  /** Whether to ask before leaving. This page also leaves by itself when everything is sent. */
  const sendsFiles = useRef(false);
  useEffect(() => () => stop.current?.abort(), []);

  const send = async (form: ReadForm): Promise<void> => {
    const controller = new AbortController();
    stop.current = controller;
    setError(undefined);
    const total = chosenBytes(form);
    setSent({ bytes: 0, total });
    sendsFiles.current = total > 0;
    try {
      if (pane !== undefined && !(await pane.prepare())) return;
      const attemptKey = keyFor(form, error instanceof ApiError && error.status === 0 ? attempt.current : undefined);
      attempt.current = attemptKey;
      const options = { attemptKey: attemptKey.key, signal: controller.signal, onSent: setSent };
      const { executionId } = await sendForm(path, form, options);
      sendsFiles.current = false;
      void known.invalidateQueries({ queryKey: ["executions"] });
      if (pane !== undefined) pane.onStarted(executionId);
      else await navigate({ to: "/executions/$executionId", params: { executionId } });
    } catch (thrown) {
      if (!controller.signal.aborted) setError(thrown);
    } finally {
      sendsFiles.current = false;
      if (stop.current === controller) setSent(undefined);
    }
  };
  const refused = error instanceof ApiError ? error.details : NONE;
  return {
    sent,
    error,
    refused,
    sendsFiles,
    send: (form: ReadForm) => void send(form),
    cancel: () => stop.current?.abort(),
  };
}

/** The same form sent again after a lost connection must not run twice; everything else is a new run. */
function keyFor(form: ReadForm, last: { form: string; key: string } | undefined): { form: string; key: string } {
  const text = JSON.stringify(form, (_, value: unknown) =>
    value instanceof File ? [value.name, value.size, value.lastModified] : value,
  );
  return last?.form === text ? last : { form: text, key: crypto.randomUUID() };
}
