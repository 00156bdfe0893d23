import { Stack } from "@mantine/core";
import { type FormEvent, lazy, type ReactNode, Suspense, useRef, useState } from "react";
import type { InputProblem } from "../../../domain/errors.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { isFileInput } from "../../../domain/manifest/values.ts";
import { loadPart } from "../app/load-part.ts";
import { toSentence } from "../app/sentence.ts";
import { ValueControl } from "./controls.tsx";
import classes from "./input-form.module.css";
import { type FormFile, type FormValues, type ReadForm, readForm } from "./values.ts";

const FileControl = lazy(() =>
  loadPart(() => import("./file-control.tsx")).then((loaded) => ({ default: loaded.FileControl })),
);

/**
 * The form of a workflow: one control an input, in the order of declaration. Checks what the service checks, with its
 * words: each control when it is left, all of them when the form is sent. `refused` is what the service said no to; what
 * it said of a control is shown there until that one is changed.
 */
export function InputForm(props: {
  readonly inputs: readonly Input[];
  readonly begin: FormValues;
  readonly refused: readonly InputProblem[];
  readonly disabled: boolean;
  readonly onSubmit: (form: ReadForm) => void;
  readonly onChange?: (values: FormValues) => void;
  /** Below the controls: the button, and what is said beside it. */
  readonly children: ReactNode;
}) {
  const { inputs, refused, disabled, onSubmit, onChange } = props;
  const [values, setValues] = useState(props.begin);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [changedAfter, setChangedAfter] = useState<ReadonlyMap<string, readonly InputProblem[]>>(new Map());
  const place = useRef<HTMLFormElement>(null);
  const { form, problems } = readForm(inputs, values);

  const change = (name: string, value: FormValues[string]): void => {
    const next = { ...values, [name]: value };
    setValues(next);
    setChangedAfter(new Map(changedAfter).set(name, refused));
    onChange?.(next);
  };
  const leave = (name: string): void => setLeft(new Set(left).add(name));
  const problemOf = (name: string): string | undefined => {
    const own = left.has(name) ? problems.filter(({ input }) => input === name) : [];
    const told = changedAfter.get(name) === refused ? [] : refused.filter(({ input }) => input === name);
    const messages = (own.length > 0 ? own : told).map(({ message }) => toSentence(message));
    return messages.length === 0 ? undefined : messages.join(" ");
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setLeft(new Set(inputs.map(({ name }) => name)));
    const [first] = problems;
    if (first === undefined) return onSubmit(form);
    focusControl(place.current?.querySelector<HTMLElement>(`[data-input="${CSS.escape(first.input)}"]`));
  };
  return (
    <form ref={place} onSubmit={submit} noValidate>
      <fieldset className={classes.fields} disabled={disabled}>
        <Stack gap="lg">
          {inputs.map((input) =>
            isFileInput(input) ? (
              <Suspense key={input.name}>
                <FileControl
                  input={input}
                  files={(values[input.name] ?? []) as readonly FormFile[]}
                  error={problemOf(input.name)}
                  onChange={(files) => {
                    change(input.name, files);
                    leave(input.name);
                  }}
                />
              </Suspense>
            ) : (
              <ValueControl
                key={input.name}
                input={input}
                value={(values[input.name] ?? "") as string | readonly string[]}
                error={problemOf(input.name)}
                onChange={(value) => change(input.name, value)}
                onLeave={() => leave(input.name)}
              />
            ),
          )}
        </Stack>
      </fieldset>
      {props.children}
    </form>
  );
}

const FIELDS = "input, button, select, textarea";

/** Of several buttons or boxes for one input, the first. */
function focusControl(control: HTMLElement | null | undefined): void {
  const field = control?.matches(FIELDS) === true ? control : control?.querySelector<HTMLElement>(FIELDS);
  field?.focus();
}
