import { Button, Group, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { PlusIcon } from "../app/icons.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { type Asked, ValueTable } from "./value-table.tsx";
import { type Kind, valuesQuery } from "./values.ts";

const HistoryDialog = lazy(() =>
  loadPart(() => import("./history-dialog.tsx")).then((loaded) => ({ default: loaded.HistoryDialog })),
);
const RemovalDialog = lazy(() =>
  loadPart(() => import("./removal-dialog.tsx")).then((loaded) => ({ default: loaded.RemovalDialog })),
);
const SetDialog = lazy(() =>
  loadPart(() => import("./set-dialog.tsx")).then((loaded) => ({ default: loaded.SetDialog })),
);

const WORDS = {
  secret: { title: "Secrets", add: "New secret", none: "No secret is set." },
  variable: { title: "Variables", add: "New variable", none: "No variable is set." },
} as const;

/** The secrets or the variables of the account and its workflows; with `workflowId`, those of that workflow alone. */
export function ValueSection({ kind, workflowId }: { kind: Kind; workflowId?: string }) {
  const [asked, setAsked] = useState<Asked | "new">();
  const found = useQuery(valuesQuery(kind));
  const mayChange = useMayChange();
  const { title, add, none } = WORDS[kind];
  const values = found.data?.filter((value) => workflowId === undefined || value.workflowId === workflowId) ?? [];
  const close = () => setAsked(undefined);
  return (
    <section aria-labelledby={`${kind}-values`}>
      <Group justify="space-between" mb="xs">
        <Title order={workflowId === undefined ? 2 : 3} id={`${kind}-values`}>
          {title}
        </Title>
        {mayChange && (
          <Button variant="default" leftSection={<PlusIcon />} onClick={() => setAsked("new")}>
            {add}
          </Button>
        )}
      </Group>
      {found.isPending && <LoadingRows count={2} label={`The ${kind}s are loading`} />}
      {found.isLoadingError && <ErrorState error={found.error} onRetry={() => void found.refetch()} />}
      {found.data !== undefined && values.length === 0 && <Text c="dimmed">{none}</Text>}
      {values.length > 0 && (
        <ValueTable kind={kind} values={values} onAsk={setAsked} isOfOneWorkflow={workflowId !== undefined} />
      )}
      <Suspense>
        {asked === "new" && <SetDialog kind={kind} workflowId={workflowId} onClose={close} />}
        {asked !== undefined && asked !== "new" && <AskedDialog kind={kind} asked={asked} onClose={close} />}
      </Suspense>
    </section>
  );
}

function AskedDialog(props: { readonly kind: Kind; readonly asked: Asked; readonly onClose: () => void }) {
  const { kind, asked, onClose } = props;
  const { what, value } = asked;
  if (what === "history") return <HistoryDialog kind={kind} place={value} onClose={onClose} />;
  if (what === "removal") return <RemovalDialog kind={kind} value={value} onClose={onClose} />;
  return <SetDialog kind={kind} given={value} onClose={onClose} />;
}
