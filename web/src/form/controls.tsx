import {
  Checkbox,
  Group,
  MultiSelect,
  NumberInput,
  PasswordInput,
  Radio,
  Select,
  Stack,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import { type ControlProps, describeControl } from "./control-text.ts";
import { DateTimeControl } from "./date-time.tsx";

/** Up to this many options are all shown at once. */
const OPTIONS_SHOWN_MAX = 5;
const CHARACTERS_SHOWN_FROM = 0.8;

/** The control that fits the kind of an input, with its label, help and problem. */
export function ValueControl(props: ControlProps) {
  const { input } = props;
  switch (input.kind) {
    case "string":
    case "date":
      return <TextControl {...props} />;
    case "text":
    case "json":
      return <LongTextControl {...props} />;
    case "secret":
      return <SecretControl {...props} />;
    case "number":
    case "integer":
      return <NumberControl {...props} />;
    case "boolean":
      return input.default === null ? <YesNoControl {...props} /> : <SwitchControl {...props} />;
    case "select":
      return input.options.length <= OPTIONS_SHOWN_MAX ? <RadioControl {...props} /> : <SelectControl {...props} />;
    case "multi_select":
      return input.options.length <= OPTIONS_SHOWN_MAX ? (
        <CheckboxesControl {...props} />
      ) : (
        <MultiSelectControl {...props} />
      );
    case "datetime":
      return <DateTimeControl {...props} />;
  }
}

function TextControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  const text = String(value);
  return (
    <TextInput
      {...describeControl(props)}
      {...(input.kind === "date" ? { type: "date", min: input.min ?? undefined, max: input.max ?? undefined } : {})}
      value={text}
      rightSection={input.kind === "string" ? <Room text={text} max={input.charactersMax} /> : undefined}
      rightSectionWidth={90}
      rightSectionPointerEvents="none"
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={onLeave}
    />
  );
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

function LongTextControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  const isJson = input.kind === "json";
  return (
    <Textarea
      {...describeControl(props)}
      autosize
      minRows={isJson ? 3 : 4}
      maxRows={18}
      spellCheck={!isJson}
      styles={isJson ? { input: { fontFamily: "var(--mantine-font-family-monospace)" } } : {}}
      value={String(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={onLeave}
    />
  );
}

function SecretControl(props: ControlProps) {
  const { value, onChange, onLeave } = props;
  return (
    <PasswordInput
      {...describeControl(props)}
      // Browsers fill in and offer to keep what looks like a password of this site; this is none.
      autoComplete="one-time-code"
      value={String(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={onLeave}
    />
  );
}

function NumberControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  if (input.kind !== "number" && input.kind !== "integer") return null;
  return (
    <NumberInput
      {...describeControl(props)}
      value={String(value)}
      clampBehavior="none"
      allowDecimal={input.kind === "number"}
      {...(input.step === null ? {} : { step: input.step })}
      {...(input.min === null ? {} : { min: input.min })}
      {...(input.max === null ? {} : { max: input.max })}
      onChange={(number) => onChange(String(number))}
      onBlur={onLeave}
    />
  );
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

function RadioControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  if (input.kind !== "select") return null;
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

function SelectControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  if (input.kind !== "select") return null;
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

function CheckboxesControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  if (input.kind !== "multi_select") return null;
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

function MultiSelectControl(props: ControlProps) {
  const { input, value, onChange, onLeave } = props;
  if (input.kind !== "multi_select") return null;
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

function listOf(value: string | readonly string[]): string[] {
  return typeof value === "string" ? [] : value.slice();
}
