import { Switch, Textarea, TextInput } from "@mantine/core";
import { lazy, type ReactNode, Suspense } from "react";
import type { InputOf, ValueInput } from "../../../domain/manifest/manifest.ts";
import { loadPart } from "../app/load-part.ts";
import { type ControlProps, describeControl, describeText } from "./control-text.ts";

// For forms that have such an input. The others are most of all inputs, and small.
const NumberControl = lazy(() =>
  loadPart(() => import("./number-control.tsx")).then((loaded) => ({ default: loaded.NumberControl })),
);
const SecretControl = lazy(() =>
  loadPart(() => import("./secret-control.tsx")).then((loaded) => ({ default: loaded.SecretControl })),
);
const DateTimeControl = lazy(() =>
  loadPart(() => import("./date-time.tsx")).then((loaded) => ({ default: loaded.DateTimeControl })),
);
const loadChoices = () => loadPart(() => import("./choice-controls.tsx"));
const YesNoControl = lazy(() => loadChoices().then((loaded) => ({ default: loaded.YesNoControl })));
const RadioControl = lazy(() => loadChoices().then((loaded) => ({ default: loaded.RadioControl })));
const CheckboxesControl = lazy(() => loadChoices().then((loaded) => ({ default: loaded.CheckboxesControl })));
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
  secret: (props) => <SecretControl {...props} />,
  number: (props) => <NumberControl {...props} allowDecimal />,
  integer: (props) => <NumberControl {...props} allowDecimal={false} />,
  boolean: (props) => (props.input.default === null ? <YesNoControl {...props} /> : <SwitchControl {...props} />),
  select: (props) => (showsAll(props.input) ? <RadioControl {...props} /> : <SelectControl {...props} />),
  multi_select: (props) =>
    showsAll(props.input) ? <CheckboxesControl {...props} /> : <MultiSelectControl {...props} />,
  date: DateControl,
  datetime: (props) => <DateTimeControl {...props} />,
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
