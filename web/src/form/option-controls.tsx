import { MultiSelect, Select } from "@mantine/core";
import type { InputOf, ValueInput } from "../../../domain/manifest/manifest.ts";
import { type ControlProps, describeControl, listOf } from "./control-text.ts";

type Props<Kind extends "select" | "multi_select"> = ControlProps<InputOf<Kind, ValueInput>>;

/** One of many options, found by a part of its name. */
export function SelectControl(props: Props<"select">) {
  const { input, value, onChange, onLeave } = props;
  return (
    <Select
      {...describeControl(props)}
      data={[...input.options]}
      value={value === "" ? null : String(value)}
      searchable
      clearable={!input.required}
      nothingFoundMessage="No such option"
      onChange={(option) => onChange(option ?? "")}
      onBlur={onLeave}
    />
  );
}

/** Any of many options. */
export function MultiSelectControl(props: Props<"multi_select">) {
  const { input, value, onChange, onLeave } = props;
  return (
    <MultiSelect
      {...describeControl(props)}
      data={[...input.options]}
      value={listOf(value)}
      searchable
      clearable
      nothingFoundMessage="No such option"
      onChange={onChange}
      onBlur={onLeave}
    />
  );
}
