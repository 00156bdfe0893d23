import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { BuildProgress } from "./build-progress.tsx";
import type { Publishing } from "./publishing.ts";

/** The end of a dialog that makes a commit: how far it is, what is wrong with it, and the buttons. */
export function CommitActions(props: {
  readonly state: Publishing;
  /** Whether there is something to commit. */
  readonly isReady: boolean;
  readonly commit: { readonly label: string; readonly act: () => Promise<void> };
  readonly leave: { readonly label: string; readonly act: () => void };
  /** Said where another commit was first, after the message. */
  readonly whenMoved?: string;
  /** Above the buttons. */
  readonly children?: ReactNode;
}) {
  const { state, isReady, commit, leave, whenMoved, children } = props;
  return (
    <>
      {state.kind === "moved" && (
        <Text size="sm" c="var(--state-failure)" role="alert">
          {whenMoved === undefined ? state.message : `${state.message} ${whenMoved}`}
        </Text>
      )}
      <BuildProgress state={state} />
      {children}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={leave.act}>
          {leave.label}
        </Button>
        <Button
          data-autofocus
          loading={state.kind === "building"}
          disabled={!isReady || state.kind === "moved"}
          onClick={() => void commit.act()}
        >
          {commit.label}
        </Button>
      </Group>
    </>
  );
}
