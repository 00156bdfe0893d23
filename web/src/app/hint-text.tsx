import { Tooltip } from "@mantine/core";

/** The text of a `Hint`. */
export function HintText({ target, label }: { readonly target: HTMLElement; readonly label: string }) {
  return <Tooltip target={target} label={label} opened />;
}
