import { Button, Group, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, lazy, Suspense, useState } from "react";
import type { Manifest } from "../../../domain/manifest/manifest.ts";
import { formatBytes, formatSize } from "../../../domain/manifest/sizes.ts";
import { useAct } from "../app/acting.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { Fact, Facts } from "../app/facts.tsx";
import { loadPart } from "../app/load-part.ts";
import { useMayChange } from "../app/session.ts";
import { LoadingRows } from "../app/states.tsx";
import { toDuration } from "../app/time-text.ts";
import { ValueSection } from "../values/value-section.tsx";
import { type Workflow, workflowQuery } from "../workflows/workflows.ts";
import { NameNote } from "./name-note.tsx";
import classes from "./settings-tab.module.css";

const DeleteDialog = lazy(() =>
  loadPart(() => import("./delete-dialog.tsx")).then((loaded) => ({ default: loaded.DeleteDialog })),
);

const NAME_CHARACTERS_MAX = 100;

const route = getRouteApi("/signed-in/workflows/$workflowId/settings");

/** The name of a workflow, its limits, its secrets and variables, a copy of it, and its end. */
export function SettingsTab() {
  const { workflowId } = route.useParams();
  const { data: workflow } = useQuery(workflowQuery(workflowId));
  const mayChange = useMayChange();
  if (workflow === undefined) return <LoadingRows label="The settings are loading" />;
  return (
    <div className={classes.page}>
      <NameSection key={workflow.name} workflow={workflow} mayChange={mayChange} />
      {workflow.manifest !== null && <LimitsSection workflow={workflow} manifest={workflow.manifest} />}
      <ValuesSection workflowId={workflowId} />
      {mayChange && workflow.commitId !== null && <CopySection workflow={workflow} />}
      {mayChange && <DeleteSection workflow={workflow} />}
    </div>
  );
}

function NameSection({ workflow, mayChange }: { workflow: Workflow; mayChange: boolean }) {
  const [name, setName] = useState(workflow.name);
  const rename = useAct({ stale: ["workflows"], refused: "The name was not changed" });
  const wanted = name.trim();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    rename.mutate({ path: `/api/workflows/${workflow.workflowId}`, method: "PATCH", body: { name: wanted } });
  };
  return (
    <section className={classes.card} aria-labelledby="settings-name">
      <h2 id="settings-name" className={classes.title}>
        Name
      </h2>
      <form onSubmit={submit}>
        <Group gap="sm" align="flex-end">
          <TextInput
            aria-label="Name of the workflow"
            className={classes.field}
            maxLength={NAME_CHARACTERS_MAX}
            readOnly={!mayChange}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {mayChange && (
            <Button
              type="submit"
              size="sm"
              variant="default"
              loading={rename.isPending}
              disabled={wanted === "" || wanted === workflow.name}
            >
              Rename
            </Button>
          )}
        </Group>
      </form>
      {mayChange && <NameNote workflow={workflow} />}
    </section>
  );
}

function LimitsSection({ workflow, manifest }: { workflow: Workflow; manifest: Manifest }) {
  const { workflowId, usage } = workflow;
  const { limits, retry, concurrency } = manifest;
  return (
    <section className={classes.card} aria-labelledby="settings-limits">
      <div className={classes.head}>
        <h2 id="settings-limits" className={classes.title}>
          Limits of a run
        </h2>
        <Link
          to="/workflows/$workflowId/code"
          params={{ workflowId }}
          search={{ file: "config.yaml" }}
          className="aside-link"
        >
          Change them in config.yaml
        </Link>
      </div>
      <Facts>
        <Fact name="Time">
          {toDuration(limits.timeoutSeconds)}
          <Used at={usage && toDuration(usage.seconds)} />
        </Fact>
        <Fact name="Memory">
          {formatSize(limits.memoryBytes)}
          <Used at={usage?.memoryBytes && formatBytes(usage.memoryBytes)} />
        </Fact>
        <Fact name="Processors">
          {limits.cpu}
          <Used at={usage?.processorSeconds && `${toDuration(usage.processorSeconds)} of processor time`} />
        </Fact>
        <Fact name="Network">{limits.network ? "On" : "Off"}</Fact>
        <Fact name="Attempts">{describeAttempts(retry)}</Fact>
        <Fact name="Runs at the same time">
          {concurrency === null ? "No limit of its own" : concurrency.executionsMax}
        </Fact>
      </Facts>
      {usage !== null && (
        <Text size="sm" c="dimmed" mt="xs">
          The highest use measured in {usage.basedOn === 1 ? "its one run" : `the last ${usage.basedOn} runs`}.
        </Text>
      )}
    </section>
  );
}

function Used({ at }: { at: string | number | null | undefined }) {
  if (at === null || at === undefined || at === 0) return null;
  return (
    <Text span c="dimmed">
      , used at most {at}
    </Text>
  );
}

/** "3: after failed or timed out, 30s apart, each wait 2 times the one before"; a number alone where nothing else is said. */
function describeAttempts({ attemptsMax, on, delaySeconds = 0, backoff = 1 }: Manifest["retry"]): string {
  const ends = on && `after ${on.join(" or ").replaceAll("_", " ")}`;
  const waits = delaySeconds > 0 ? `${toDuration(delaySeconds)} apart` : undefined;
  const growth = waits === undefined || backoff === 1 ? undefined : `each wait ${backoff} times the one before`;
  const words = [ends, waits, growth].filter((part) => part !== undefined).join(", ");
  return words === "" ? String(attemptsMax) : `${attemptsMax}, ${words}`;
}

function ValuesSection({ workflowId }: { workflowId: string }) {
  return (
    <section className={`${classes.card} ${classes.values}`} aria-labelledby="settings-values">
      <div className={classes.head}>
        <div>
          <h2 id="settings-values" className={classes.title}>
            Secrets and variables
          </h2>
          <Text size="sm" c="dimmed">
            Values for this workflow only. They override those of the account.
          </Text>
        </div>
        <Link to="/account/secrets" className="aside-link">
          All values of the account
        </Link>
      </div>
      <ValueSection kind="secret" workflowId={workflowId} />
      <ValueSection kind="variable" workflowId={workflowId} />
    </section>
  );
}

function CopySection({ workflow: { workflowId, name } }: { workflow: Workflow }) {
  const navigate = useNavigate();
  const copy = useAct<{ workflowId: string }>({
    stale: ["workflows"],
    refused: "The workflow was not duplicated",
    onDone: (made) =>
      void navigate({ to: "/workflows/$workflowId/code", params: made, search: { file: "config.yaml" } }),
  });
  const body = { name: `Copy of ${name}`.slice(0, NAME_CHARACTERS_MAX), copyOf: workflowId };
  return (
    <section className={classes.card} aria-labelledby="settings-copy">
      <div className={classes.head}>
        <div>
          <h2 id="settings-copy" className={classes.title}>
            Duplicate
          </h2>
          <Text size="sm" c="dimmed">
            Makes a workflow with the files of the latest commit as your draft. It has a key and a history of its own.
          </Text>
        </div>
        <Button
          variant="default"
          loading={copy.isPending}
          onClick={() => copy.mutate({ path: "/api/workflows", method: "POST", body })}
        >
          Duplicate
        </Button>
      </div>
    </section>
  );
}

function DeleteSection({ workflow }: { workflow: Workflow }) {
  const [asked, setAsked] = useState(false);
  const { workflowId, nextRun } = workflow;
  return (
    <section className={`${classes.card} ${classes.danger}`} aria-labelledby="settings-delete">
      <div className={classes.head}>
        <div>
          <h2 id="settings-delete" className={classes.title}>
            Delete
          </h2>
          <Text size="sm" c="dimmed">
            Its key and its schedule end at once. Its runs stay on record.
          </Text>
        </div>
        <Group gap="xs">
          {nextRun !== null && (
            <ButtonLink to="/workflows/$workflowId/schedule" params={{ workflowId }} variant="default">
              Pause the schedule
            </ButtonLink>
          )}
          <Button color="red" variant="outline" onClick={() => setAsked(true)}>
            Delete workflow
          </Button>
        </Group>
      </div>
      {asked && (
        <Suspense>
          <DeleteDialog workflow={workflow} onClose={() => setAsked(false)} />
        </Suspense>
      )}
    </section>
  );
}
