import { PasswordInput } from "@mantine/core";
import { type ControlProps, describeText } from "./control-text.ts";

/** A text that is hidden while it is written. */
export function SecretControl(props: ControlProps) {
  // Browsers fill in and offer to keep what looks like a password of this site; this is none.
  return <PasswordInput {...describeText(props)} autoComplete="one-time-code" />;
}
