import { NumberInput } from "@mantine/core";
import type { InputOf, ValueInput } from "../../../domain/manifest/manifest.ts";
import { type ControlProps, describeControl } from "./control-text.ts";

type Props = ControlProps<InputOf<"number", ValueInput>>;

/** A number, with the steps of its input. */
export function NumberControl(props: Props & { readonly allowDecimal: boolean }) {
  const { input, value, onChange, onLeave, allowDecimal } = props;
  return (
    <NumberInput
      {...describeControl(props)}
      value={String(value)}
      clampBehavior="none"
      allowDecimal={allowDecimal}
      {...(input.step === null ? {} : { step: input.step })}
      {...(input.min === null ? {} : { min: input.min })}
      {...(input.max === null ? {} : { max: input.max })}
      onChange={(number) => onChange(String(number))}
      onBlur={onLeave}
    />
  );
}
