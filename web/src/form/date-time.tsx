import { Group, Input, NativeSelect } from "@mantine/core";
import { useId } from "react";
import { type ControlProps, describeControl } from "./control-text.ts";
import { joinDateTime, splitDateTime, writeOffset } from "./date-time-text.ts";

/** A date, a time, and of which clock: without a zone the program gets what the clock on the wall says. */
export function DateTimeControl(props: ControlProps) {
  const { value, error, onChange, onLeave } = props;
  const id = useId();
  const parts = splitDateTime(String(value));
  const { label, description, required } = describeControl(props);
  const set = (changed: Partial<typeof parts>): void => onChange(joinDateTime({ ...parts, ...changed }));
  return (
    <Input.Wrapper
      label={label}
      description={description}
      required={required}
      error={error}
      id={id}
      labelProps={{ htmlFor: id }}
    >
      <Group gap="xs" wrap="nowrap" mt={4} align="flex-start">
        {/* Not a control with a frame of its own: it is described by what stands around both. */}
        <Input
          id={id}
          type="datetime-local"
          step={1}
          flex={1}
          error={error !== undefined}
          data-input={props.input.name}
          value={parts.local}
          onChange={(event) => set({ local: event.currentTarget.value })}
          onBlur={onLeave}
        />
        <NativeSelect
          aria-label={`Zone of ${label}`}
          data={listOffsets(parts)}
          value={parts.offset}
          onChange={(event) => set({ offset: event.currentTarget.value })}
        />
      </Group>
    </Input.Wrapper>
  );
}

function listOffsets({ local, offset }: { local: string; offset: string }): { value: string; label: string }[] {
  const at = new Date(local);
  const here = writeOffset(-(Number.isNaN(at.getTime()) ? new Date() : at).getTimezoneOffset());
  const known = [
    { value: "", label: "No zone" },
    { value: "Z", label: "UTC" },
    { value: here, label: `Here (${here})` },
  ];
  return known.some(({ value }) => value === offset) ? known : [...known, { value: offset, label: offset }];
}
