import type { ChangeEvent } from "react";
import type { Input, ValueInput } from "../../../domain/manifest/manifest.ts";

export interface ControlProps<Kind extends Input = ValueInput> {
  readonly input: Kind;
  readonly value: string | readonly string[];
  readonly error: string | undefined;
  readonly onChange: (value: string | readonly string[]) => void;
  readonly onLeave: () => void;
}

/** What all controls say of themselves. */
export function describeControl({ input, error }: Pick<ControlProps<Input>, "input" | "error">) {
  return {
    label: input.label,
    description: input.description === "" ? undefined : input.description,
    required: input.required,
    error,
    "data-input": input.name,
  };
}

/** Returns the options that are chosen. */
export function listOf(value: string | readonly string[]): string[] {
  return typeof value === "string" ? [] : value.slice();
}

/** Returns what the controls of a text share. */
export function describeText(props: ControlProps) {
  const { value, onChange, onLeave } = props;
  return {
    ...describeControl(props),
    value: String(value),
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(event.currentTarget.value),
    onBlur: onLeave,
  };
}
