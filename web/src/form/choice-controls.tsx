import { Checkbox, Group, Radio, Stack } from "@mantine/core";
import type { InputOf, ValueInput } from "../../../domain/manifest/manifest.ts";
import { type ControlProps, describeControl, listOf } from "./control-text.ts";

type Props<Kind extends "boolean" | "select" | "multi_select"> = ControlProps<InputOf<Kind, ValueInput>>;

/** Yes or no, where neither is the default. */
export function YesNoControl(props: Props<"boolean">) {
  const { input, value, onChange, onLeave } = props;
  return (
    <Radio.Group {...describeControl(props)} value={String(value)} onChange={onChange} onBlur={onLeave}>
      <Group mt={6} gap="md">
        <Radio value="true" label="Yes" />
        <Radio value="false" label="No" />
        {!input.required && <Radio value="" label="Not set" />}
      </Group>
    </Radio.Group>
  );
}

/** One of a few options. */
export function RadioControl(props: Props<"select">) {
  const { input, value, onChange, onLeave } = props;
  return (
    <Radio.Group {...describeControl(props)} value={String(value)} onChange={onChange} onBlur={onLeave}>
      <Group mt={6} gap="md">
        {input.options.map((option) => (
          <Radio key={option} value={option} label={option} />
        ))}
        {!input.required && input.default === null && <Radio value="" label="None" />}
      </Group>
    </Radio.Group>
  );
}

/** Any of a few options. */
export function CheckboxesControl(props: Props<"multi_select">) {
  const { input, value, onChange, onLeave } = props;
  return (
    <Checkbox.Group {...describeControl(props)} value={listOf(value)} onChange={onChange} onBlur={onLeave}>
      <Stack mt={6} gap={8}>
        {input.options.map((option) => (
          <Checkbox key={option} value={option} label={option} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
