import { Checkbox, Group, PasswordInput, Radio, Stack, Switch, Textarea, TextInput } from "@mantine/core";
import { type ChangeEvent, lazy, type ReactNode, Suspense } from "react";
import type { InputOf, ValueInput } from "../../../domain/manifest/manifest.ts";
import { loadPart } from "../app/load-part.ts";
import { type ControlProps, describeControl, listOf } from "./control-text.ts";
import { DateTimeControl } from "./date-time.tsx";

// With libraries of their own, for forms that have such an input.
const NumberControl = lazy(() =>
  loadPart(() => import("./number-control.tsx")).then((loaded) => ({ default: loaded.NumberControl })),
);
const loadOptions = () => loadPart(() => import("./option-controls.tsx"));
const SelectControl = lazy(() => loadOptions().then((loaded) => ({ default: loaded.SelectControl })));
const MultiSelectControl = lazy(() => loadOptions().then((loaded) => ({ default: loaded.MultiSelectControl })));

/** Up to this many options are all shown at once. */
const OPTIONS_SHOWN_MAX = 5;
const CHARACTERS_SHOWN_FROM = 0.8;

type Props<Kind extends ValueInput["kind"]> = ControlProps<InputOf<Kind, ValueInput>>;

/** The table of controls, by kind. */
const CONTROLS: { readonly [Kind in ValueInput["kind"]]: (props: Props<Kind>) => ReactNode } = {
  string: StringControl,
  text: LongTextControl,
  json: (props) => <LongTextControl {...props} isCode />,
  secret: SecretControl,
  number: (props) => <NumberControl {...props} allowDecimal />,
  integer: (props) => <NumberControl {...props} allowDecimal={false} />,
  boolean: (props) => (props.input.default === null ? <YesNoControl {...props} /> : <SwitchControl {...props} />),
  select: (props) => (showsAll(props.input) ? <RadioControl {...props} /> : <SelectControl {...props} />),
  multi_select: (props) =>
    showsAll(props.input) ? <CheckboxesControl {...props} /> : <MultiSelectControl {...props} />,
  date: DateControl,
  datetime: DateTimeControl,
};

/** The control that fits the kind of an input, with its label, help and problem. */
export function ValueControl(props: ControlProps) {
  const Control = CONTROLS[props.input.kind] as (props: ControlProps) => ReactNode;
  return (
    <Suspense fallback={<TextInput {...describeControl(props)} readOnly />}>
      <Control {...props} />
    </Suspense>
  );
}

function showsAll({ options }: { readonly options: readonly string[] }): boolean {
  return options.length <= OPTIONS_SHOWN_MAX;
}

/** What the controls of a text share. */
function describeText(props: ControlProps) {
  const { value, onChange, onLeave } = props;
  return {
    ...describeControl(props),
    value: String(value),
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(event.currentTarget.value),
    onBlur: onLeave,
  };
}

function StringControl(props: Props<"string">) {
  return (
    <TextInput
      {...describeText(props)}
      rightSection={<Room text={String(props.value)} max={props.input.charactersMax} />}
      rightSectionWidth={90}
      rightSectionPointerEvents="none"
    />
  );
}

function DateControl(props: Props<"date">) {
  const { min, max } = props.input;
  return <TextInput {...describeText(props)} type="date" min={min ?? undefined} max={max ?? undefined} />;
}

/** How many characters are left, once few are. */
function Room({ text, max }: { text: string; max: number }) {
  if (text.length < max * CHARACTERS_SHOWN_FROM) return null;
  return (
    <span className="number">
      {text.length.toLocaleString("en")} / {max.toLocaleString("en")}
    </span>
  );
}

function LongTextControl({ isCode = false, ...props }: ControlProps & { readonly isCode?: boolean }) {
  return (
    <Textarea
      {...describeText(props)}
      autosize
      minRows={isCode ? 3 : 4}
      maxRows={18}
      spellCheck={!isCode}
      styles={isCode ? { input: { fontFamily: "var(--mantine-font-family-monospace)" } } : {}}
    />
  );
}

function SecretControl(props: Props<"secret">) {
  // Browsers fill in and offer to keep what looks like a password of this site; this is none.
  return <PasswordInput {...describeText(props)} autoComplete="one-time-code" />;
}

function SwitchControl(props: ControlProps) {
  const { value, onChange } = props;
  const { required: _, ...described } = describeControl(props);
  return (
    <Switch
      {...described}
      checked={value === "true"}
      onChange={(event) => onChange(String(event.currentTarget.checked))}
    />
  );
}

function YesNoControl(props: ControlProps) {
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

function RadioControl(props: Props<"select">) {
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

function CheckboxesControl(props: Props<"multi_select">) {
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
