import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queries } from "../app/queries.ts";
import { Refusal } from "../app/refusal.tsx";
import { useMayChange } from "../app/session.ts";
import { Time } from "../app/time.tsx";
import classes from "./api-tab.module.css";
import { CopyButton } from "./copy-button.tsx";
import { endPreviousKeys, keyQuery, revealKey } from "./keys.ts";
import { RotateDialog } from "./rotate-dialog.tsx";

/** The key: masked until somebody asks, to copy at once, and the way to a new one. */
export function KeyCard(props: {
  readonly workflowId: string;
  readonly revealed: string | undefined;
  readonly onReveal: (apiKey: string | undefined) => void;
}) {
  const { workflowId, revealed, onReveal } = props;
  const mayChange = useMayChange();
  const key = useQuery(keyQuery(workflowId));
  const [rotating, setRotating] = useState(false);
  const reveal = (): void => {
    if (revealed !== undefined) return onReveal(undefined);
    revealKey(workflowId).then(onReveal, (error: Error) =>
      notifications.show({ color: "red", title: "The key was not shown", message: error.message }),
    );
  };
  return (
    <section className={classes.card} aria-labelledby="api-key">
      <div className={classes.head}>
        <h2 id="api-key" className={classes.title}>
          Key
        </h2>
        {mayChange && (
          <Group gap="xs">
            <Button variant="default" onClick={reveal} disabled={!key.isSuccess}>
              {revealed === undefined ? "Reveal" : "Hide"}
            </Button>
            <CopyButton what="Key" read={async () => revealed ?? revealKey(workflowId)} />
            <Button variant="default" onClick={() => setRotating(true)} disabled={!key.isSuccess}>
              Regenerate
            </Button>
          </Group>
        )}
      </div>
      <p className={classes.key}>
        <code data-testid="api-key">{revealed ?? key.data?.masked ?? "…"}</code>
      </p>
      <Text size="sm" c="dimmed">
        It opens this workflow and its runs, nothing else. Keep it out of addresses and of code that others read.
      </Text>
      {key.data?.previousKeyExpiresAt != null && (
        <PreviousKey workflowId={workflowId} expiresAt={key.data.previousKeyExpiresAt} />
      )}
      {key.isError && (
        <Text size="sm" c="var(--state-failure)" role="alert">
          {key.error.message}
        </Text>
      )}
      {rotating && <RotateDialog workflowId={workflowId} onRotated={onReveal} onClose={() => setRotating(false)} />}
    </section>
  );
}

/** The key before it, while it is good, and its end. */
function PreviousKey({ workflowId, expiresAt }: { readonly workflowId: string; readonly expiresAt: string }) {
  const mayChange = useMayChange();
  const end = useMutation({
    mutationFn: () => endPreviousKeys(workflowId),
    onSuccess() {
      void queries.invalidateQueries({ queryKey: keyQuery(workflowId).queryKey });
      notifications.show({ color: "green", title: "The old key is ended", message: "The current key stays." });
    },
  });
  return (
    <>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          The key before it is good until <Time at={expiresAt} as="short" />.
        </Text>
        {mayChange && (
          <Button size="compact-sm" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
            End it now
          </Button>
        )}
      </Group>
      <Refusal error={end.error} />
    </>
  );
}
