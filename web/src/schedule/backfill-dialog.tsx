import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { z } from "zod";
import type { Backfill as BackfillDocument } from "../../../domain/api/schedules.ts";
import { useAct } from "../app/acting.ts";
import { callApi } from "../app/api.ts";
import { Dialog } from "../app/dialog.tsx";
import { Refusal } from "../app/refusal.tsx";
import { LoadingRows } from "../app/states.tsx";
import { toWall } from "./next-runs.tsx";
import classes from "./schedule.module.css";
import { toGivenName } from "./schedules.ts";

type Backfill = z.infer<typeof BackfillDocument>;

const SHOWN_MAX = 8;

/** Runs scheduled times that are past and did not start. It shows which ones before anything begins. */
export function BackfillDialog(props: {
  readonly workflowId: string;
  /** Of the schedule. */
  readonly name: string;
  readonly period: { readonly from: string; readonly to: string };
  readonly onClose: () => void;
}) {
  const { workflowId, name, period, onClose } = props;
  const [from, setFrom] = useState(toField(period.from));
  const [to, setTo] = useState(toField(period.to));
  const path = `/api/workflows/${workflowId}/backfills`;
  const body = { from: toInstant(from), to: toInstant(to), schedule: toGivenName(name) };
  const preview = useQuery({
    queryKey: ["backfill", workflowId, body],
    queryFn: ({ signal }) => callApi<Backfill>(path, { method: "POST", body: { ...body, dryRun: true }, signal }),
    enabled: from !== "" && to !== "",
    gcTime: 0,
    retry: false,
  });
  const act = useAct<Backfill>({
    stale: ["schedules", workflowId],
    refused: "The runs were not started",
    onDone({ started, stopped }) {
      const words = started === 1 ? "1 run was started." : `${started} runs were started.`;
      const color = stopped === null ? "green" : "yellow";
      const message = stopped === null ? words : `${words} ${stopped.reason} ${stopped.whatToDo}`;
      notifications.show({ color, title: "Missed times", message });
      onClose();
    },
  });
  const due = preview.data?.ticks.filter(({ state }) => state === "due") ?? [];
  return (
    <Dialog onClose={onClose} title="Run missed times" size="lg">
      <Stack gap="md">
        <Text size="sm">
          Starts each scheduled time of this period that has not run, in order, with today's files. Times that ran are
          left alone.
        </Text>
        <Group gap="sm" grow>
          <Field label="From" value={from} onChange={setFrom} />
          <Field label="Until" value={to} onChange={setTo} />
        </Group>
        {preview.isPending && <LoadingRows count={2} height={20} label="The times are loading" />}
        <Refusal error={preview.error} />
        {preview.isSuccess && <DueTimes due={due} timezone={preview.data.timezone} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            data-autofocus
            disabled={due.length === 0}
            loading={act.isPending}
            onClick={() => act.mutate({ path, method: "POST", body })}
          >
            {due.length === 1 ? "Start 1 run" : `Start ${due.length} runs`}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

function Field({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description="By your clock"
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function DueTimes({ due, timezone }: { due: Backfill["ticks"]; timezone: string }) {
  if (due.length === 0) return <Text c="dimmed">Every time of this period has run, or none was due.</Text>;
  return (
    <div>
      <Text size="sm">By the schedule's clock, {timezone}:</Text>
      <ul className={classes.due}>
        {due.slice(0, SHOWN_MAX).map(({ nominalAt, local }) => (
          <li key={nominalAt}>{toWall(local)}</li>
        ))}
        {due.length > SHOWN_MAX && <li>and {due.length - SHOWN_MAX} more</li>}
      </ul>
    </div>
  );
}

/** As fields of a date and time have it: by the viewer's clock, without a zone. */
function toField(instant: string): string {
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function toInstant(field: string): string {
  return field === "" ? "" : new Date(field).toISOString();
}
