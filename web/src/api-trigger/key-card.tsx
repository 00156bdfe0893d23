import { Button, Group, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { loadPart } from "../app/load-part.ts";
import { queries } from "../app/queries.ts";
import { Refusal } from "../app/refusal.tsx";
import { useMayChange } from "../app/session.ts";
import { Time } from "../app/time.tsx";
import classes from "./api-tab.module.css";
import { CopyButton } from "./copy-button.tsx";
import { endKey, type Key, keysQuery, revealKey } from "./keys.ts";

const RotateDialog = lazy(() =>
  loadPart(() => import("./rotate-dialog.tsx")).then((loaded) => ({ default: loaded.RotateDialog })),
);

/** The key, masked until you show it, with buttons to copy it and to replace it. */
export function KeyCard(props: {
  readonly workflowId: string;
  readonly revealed: string | undefined;
  readonly onReveal: (apiKey: string | undefined) => void;
}) {
  const { workflowId, revealed, onReveal } = props;
  const mayChange = useMayChange();
  const keys = useQuery(keysQuery(workflowId));
  const [current, ...replaced] = keys.data?.keys ?? [];
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
            <Button variant="default" onClick={reveal} disabled={!keys.isSuccess}>
              {revealed === undefined ? "Reveal" : "Hide"}
            </Button>
            <CopyButton what="Key" read={async () => revealed ?? revealKey(workflowId)} />
            <Button variant="default" onClick={() => setRotating(true)} disabled={!keys.isSuccess}>
              Regenerate
            </Button>
          </Group>
        )}
      </div>
      <p className={classes.key}>
        <code data-testid="api-key">{revealed ?? current?.masked ?? "…"}</code>
      </p>
      <Text size="sm" c="dimmed">
        It works for this workflow and its runs only. Keep it out of URLs and of shared code.
      </Text>
      {current !== undefined && (
        <Text size="sm" c="dimmed">
          <LastUse lastUsedAt={current.lastUsedAt} />
        </Text>
      )}
      {replaced.map((key) => (
        <ReplacedKey key={key.keyId} workflowId={workflowId} replaced={key} />
      ))}
      {keys.isError && (
        <Text size="sm" c="var(--state-failure)" role="alert">
          {keys.error.message}
        </Text>
      )}
      {rotating && (
        <Suspense>
          <RotateDialog workflowId={workflowId} onRotated={onReveal} onClose={() => setRotating(false)} />
        </Suspense>
      )}
    </section>
  );
}

/** A replaced key that still works, and its end. */
function ReplacedKey({ workflowId, replaced }: { readonly workflowId: string; readonly replaced: Key }) {
  const mayChange = useMayChange();
  const { keyId, masked, expiresAt, lastUsedAt } = replaced;
  const end = useMutation({
    mutationFn: () => endKey(workflowId, keyId),
    onSuccess() {
      void queries.invalidateQueries({ queryKey: keysQuery(workflowId).queryKey });
      notifications.show({ color: "green", title: "The old key is ended", message: "The current key stays." });
    },
  });
  return (
    <>
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          The old key <code>{masked}</code> works until {expiresAt !== null && <Time at={expiresAt} as="short" />}.{" "}
          <LastUse lastUsedAt={lastUsedAt} />
        </Text>
        {mayChange && (
          <Button
            size="compact-sm"
            variant="default"
            loading={end.isPending}
            onClick={() => end.mutate()}
            aria-label={`End it now: ${masked}`}
          >
            End it now
          </Button>
        )}
      </Group>
      <Refusal error={end.error} />
    </>
  );
}

function LastUse({ lastUsedAt }: Pick<Key, "lastUsedAt">) {
  return lastUsedAt === null ? (
    <>Never used.</>
  ) : (
    <>
      Last used <Time at={lastUsedAt} as="short" />.
    </>
  );
}
