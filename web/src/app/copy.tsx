import { ActionIcon, CopyButton, TextInput } from "@mantine/core";
import { say } from "./announcer.tsx";
import { Hint } from "./hint.tsx";
import { CheckIcon, CopyIcon } from "./icons.tsx";

/** A text that is shown once, to be copied. */
export function OnceShown({ label, value, description }: { label: string; value: string; description: string }) {
  return (
    <TextInput
      label={label}
      description={description}
      value={value}
      readOnly
      onFocus={(event) => event.currentTarget.select()}
      styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
      rightSection={<Copy value={value} label={`Copy: ${label}`} />}
    />
  );
}

/** Copies a text, and says so. */
export function Copy({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value} timeout={2_000}>
      {({ copied, copy }) => (
        <Hint label={copied ? "Copied" : label}>
          <ActionIcon
            aria-label={label}
            onClick={() => {
              copy();
              say("Copied");
            }}
          >
            {copied ? <CheckIcon /> : <CopyIcon />}
          </ActionIcon>
        </Hint>
      )}
    </CopyButton>
  );
}
