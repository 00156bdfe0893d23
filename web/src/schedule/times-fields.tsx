import { Checkbox, Group, NumberInput, Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { listTimeZones } from "../../../domain/cron/time-zones.ts";
import { REPEATS, type Repeat, STEPS, type Times } from "./times.ts";

const REPEAT_WORDS: Readonly<Record<Repeat, string>> = {
  minutes: "Every few minutes",
  hourly: "Every hour",
  daily: "Every day",
  weekly: "On days of the week",
  monthly: "Every month",
  cron: "By a cron expression",
};
const WEEKDAYS = [
  ["1", "Mon"],
  ["2", "Tue"],
  ["3", "Wed"],
  ["4", "Thu"],
  ["5", "Fri"],
  ["6", "Sat"],
  ["0", "Sun"],
] as const;
/** More would be a list that nobody reads: one types until it is short. */
const ZONES_SHOWN_MAX = 60;

interface TimesProps {
  readonly times: Times;
  /** Of the expression that the fields make. */
  readonly problem: string | undefined;
  readonly onChange: (times: Times) => void;
}

/** The fields for the times of a schedule. */
export function TimesFields(props: TimesProps) {
  const { times, onChange } = props;
  const { repeat, weekdays } = times;
  return (
    <>
      <Group gap="sm" align="flex-start" grow preventGrowOverflow={false}>
        <Select
          label="Repeat"
          allowDeselect={false}
          data={REPEATS.map((value) => ({ value, label: REPEAT_WORDS[value] }))}
          value={repeat}
          onChange={(value) => onChange({ ...times, repeat: (value ?? repeat) as Repeat })}
        />
        <PartFields {...props} />
      </Group>
      {repeat === "weekly" && (
        <Checkbox.Group
          label="Days"
          value={weekdays.map(String)}
          onChange={(days) => onChange({ ...times, weekdays: days.map(Number) })}
          error={weekdays.length === 0 ? "Choose at least one day." : undefined}
        >
          <Group gap="md" mt={6} mb={4}>
            {WEEKDAYS.map(([value, label]) => (
              <Checkbox key={value} value={value} label={label} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
    </>
  );
}

/** The fields that one repeat has and others have not. */
function PartFields({ times, problem, onChange }: TimesProps) {
  const { repeat, step, minute, clock, day, cron } = times;
  const change = (part: Partial<Times>): void => onChange({ ...times, ...part });
  if (repeat === "minutes")
    return (
      <Select
        label="Minutes"
        allowDeselect={false}
        data={STEPS.map(String)}
        value={String(step)}
        onChange={(value) => change({ step: Number(value) })}
      />
    );
  if (repeat === "hourly")
    return (
      <NumberInput
        label="Minute of the hour"
        min={0}
        max={59}
        allowDecimal={false}
        value={minute}
        error={problem}
        onChange={(value) => change({ minute: toNumber(value) })}
      />
    );
  if (repeat === "cron")
    return (
      <TextInput
        label="Cron expression"
        description="Minute, hour, day of month, month, day of week"
        value={cron}
        error={problem}
        spellCheck={false}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        onChange={(event) => change({ cron: event.currentTarget.value })}
      />
    );
  return (
    <>
      {repeat === "monthly" && (
        <NumberInput
          label="Day of the month"
          min={1}
          max={31}
          allowDecimal={false}
          value={day}
          error={problem}
          onChange={(value) => change({ day: toNumber(value) })}
        />
      )}
      <TextInput
        type="time"
        label="Time"
        value={clock}
        onChange={(event) => change({ clock: event.currentTarget.value })}
      />
    </>
  );
}

/** An empty field is no number. */
function toNumber(value: string | number): number {
  return value === "" ? Number.NaN : Number(value);
}

/** Chooses a time zone by its name or a part of it, such as a city. */
export function ZoneField(props: { readonly zone: string; readonly onChange: (zone: string) => void }) {
  const { zone, onChange } = props;
  const zones = useMemo(
    () => [...new Set([zone, ...listTimeZones()])].map((value) => ({ value, label: value.replaceAll("_", " ") })),
    [zone],
  );
  return (
    <Select
      label="Time zone"
      description="Search for a city, such as Berlin"
      searchable
      allowDeselect={false}
      limit={ZONES_SHOWN_MAX}
      nothingFoundMessage="No zone has this in its name. Try a large city nearby."
      data={zones}
      value={zone}
      onChange={(value) => onChange(value ?? zone)}
    />
  );
}
