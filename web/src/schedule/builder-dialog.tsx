import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { type Cron, parseCron } from "../../../domain/cron/cron.ts";
import { describeSchedule } from "../../../domain/cron/description.ts";
import { formatLocal, nextTicks } from "../../../domain/cron/next-runs.ts";
import { checkTimeZone } from "../../../domain/cron/time-zones.ts";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { findClockNote } from "../../../domain/schedules/clock-notes.ts";
import classes from "../app/dialog.module.css";
import { Dialog } from "../app/dialog.tsx";
import { AlertIcon } from "../app/icons.tsx";
import { useNow } from "../app/time.tsx";
import { InputForm } from "../form/input-form.tsx";
import { beginValues, type FormValues } from "../form/values.ts";
import { BuilderReview, type Wanted } from "./builder-review.tsx";
import { NextRuns } from "./next-runs.tsx";
import { joinPayload, type PayloadParts, splitPayload } from "./payload.ts";
import { readTimes, type Times, toCron } from "./times.ts";
import { TimesFields, ZoneField } from "./times-fields.tsx";

const SHOWN = 10;

/** What was chosen so far; it stays while the change is looked at. */
interface Draft {
  readonly times: Times;
  readonly zone: string;
  readonly values: FormValues;
}

/** Builds `triggers.schedule` by fields: when, in which zone, with which inputs. Shows the next runs, and then the commit. */
export function BuilderDialog(props: {
  readonly workflowId: string;
  readonly manifest: Manifest;
  readonly head: string;
  readonly onClose: () => void;
}) {
  const { workflowId, manifest, head, onClose } = props;
  const { schedule } = manifest.triggers;
  const parts = useMemo(() => splitPayload(manifest.inputs, schedule?.payload ?? {}), [manifest, schedule]);
  const [draft, setDraft] = useState<Draft>(() => ({
    times: readTimes(schedule?.cron),
    zone: schedule?.timezone ?? findOwnZone(),
    values: beginValues(parts.inputs, parts.given),
  }));
  const [wanted, setWanted] = useState<Wanted>();
  return (
    <Dialog onClose={onClose} title={schedule === null ? "New schedule" : "Change the schedule"} size="xl">
      {wanted === undefined ? (
        <Fields draft={draft} parts={parts} onChange={setDraft} onClose={onClose} onDone={setWanted} />
      ) : (
        <BuilderReview
          workflowId={workflowId}
          head={head}
          wanted={wanted}
          onBack={() => setWanted(undefined)}
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

/** That of the viewer's clock, where a schedule may have it. */
function findOwnZone(): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return checkTimeZone(timeZone).ok ? timeZone : "UTC";
}

function Fields(props: {
  readonly draft: Draft;
  readonly parts: PayloadParts;
  readonly onChange: (draft: Draft) => void;
  readonly onClose: () => void;
  readonly onDone: (wanted: Wanted) => void;
}) {
  const { draft, parts, onChange, onClose, onDone } = props;
  const { times, zone } = draft;
  const cron = toCron(times);
  const parsed = useMemo(() => (cron === undefined ? undefined : parseCron(cron)), [cron]);
  const problem = parsed?.ok === false ? parsed.problems.map(({ message }) => message).join(" ") : undefined;
  if (parts.missing.length > 0) return <NoFiles missing={parts.missing} onClose={onClose} />;
  return (
    <Stack gap="md">
      <TimesFields times={times} problem={problem} onChange={(next) => onChange({ ...draft, times: next })} />
      <ZoneField zone={zone} onChange={(next) => onChange({ ...draft, zone: next })} />
      <InputForm
        inputs={parts.inputs}
        begin={draft.values}
        refused={[]}
        disabled={false}
        onChange={(values) => onChange({ ...draft, values })}
        onSubmit={(form) => {
          if (parsed?.ok === true && cron !== undefined)
            onDone({ cron, timezone: zone, payload: joinPayload(parts, form) });
        }}
      >
        <Kept parts={parts} />
        {parsed?.ok === true && <Preview cron={parsed.cron} zone={zone} />}
        <Group justify="flex-end" gap="xs" mt="md" className={classes.acts}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={parsed?.ok !== true}>
            Review the change
          </Button>
        </Group>
      </InputForm>
    </Stack>
  );
}

/** Shows at once what no choice of times can mend. */
function NoFiles({ missing, onClose }: { missing: PayloadParts["missing"]; onClose: () => void }) {
  const names = missing.map(({ name }) => name).join(", ");
  return (
    <Stack gap="md">
      <Alert color="yellow" variant="light" icon={<AlertIcon />} role="alert">
        A schedule has no files to send, and every run needs {names}. Give each of these inputs{" "}
        <code>required: false</code> in config.yaml, and let the program fetch the file or do without it.
      </Alert>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Stack>
  );
}

/** Inputs of the payload that are not in the form. */
function Kept({ parts: { kept } }: { parts: PayloadParts }) {
  const names = Object.keys(kept);
  if (names.length === 0) return null;
  return (
    <Text size="sm" c="dimmed" mt="md">
      As in config.yaml: {names.map((name) => `${name} = ${JSON.stringify(kept[name])}`).join(", ")}.
    </Text>
  );
}

function Preview({ cron, zone }: { cron: Cron; zone: string }) {
  const now = useNow(30_000);
  const runs = useMemo(
    () =>
      nextTicks(cron, zone, new Date(now), SHOWN).map((tick) => {
        const note = findClockNote(cron, zone, tick);
        const run = { utc: tick.toISOString(), local: formatLocal(tick, zone) };
        return note === undefined ? run : { ...run, note };
      }),
    [cron, zone, now],
  );
  return (
    <section aria-label="Next runs of this schedule">
      <Text fw={600} mt="lg" mb={6} role="status">
        It runs {describeSchedule(cron, zone)}.
      </Text>
      <NextRuns runs={runs} />
    </section>
  );
}
