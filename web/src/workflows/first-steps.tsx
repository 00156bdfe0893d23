import { Button, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { hasStepsLeft, overviewOfAccountQuery } from "../account/account.ts";
import { ButtonLink } from "../app/button-link.tsx";
import { CheckIcon } from "../app/icons.tsx";
import classes from "./home.module.css";
import type { WorkflowLine } from "./workflows.ts";

interface FirstStepsProps {
  /** Of the account, as far as they are known. */
  readonly workflows: readonly WorkflowLine[];
  /** Opens the dialog that makes a workflow. */
  readonly onCreate: () => void;
  /** Opens the dialog that takes a script. */
  readonly onScript: () => void;
}

/** What people of a new account can do first. A step is done when the service has a record of it; all done, they are gone. */
export function FirstSteps({ workflows, onCreate, onScript }: FirstStepsProps) {
  const { data } = useQuery(overviewOfAccountQuery);
  if (data?.firstSteps == null || !hasStepsLeft(data)) return null;
  const { ran, published, called } = data.firstSteps;
  const example = workflows.find(({ commitId }) => commitId !== null);
  const callable = workflows.find(({ commitId, apiEnabled }) => commitId !== null && apiEnabled) ?? example;
  return (
    <section className={classes.steps} aria-labelledby="first-steps">
      <Title order={2} id="first-steps" className="unseen">
        First steps
      </Title>
      <Step
        at={1}
        title="Run an example"
        done={ran}
        action={
          example === undefined ? <Begin label="New workflow" onClick={onCreate} /> : <ToForm example={example} />
        }
      >
        Fill in a form, press Run, and see log and result.
      </Step>
      <Step
        at={2}
        title="Bring your script"
        done={published}
        action={<Begin label="Add a script" onClick={onScript} />}
      >
        Drop or paste one Python file. Its inputs become a form.
      </Step>
      <Step at={3} title="Call it by curl" done={called} action={callable && <ToApi callable={callable} />}>
        One HTTP call with a key runs a workflow from anywhere.
      </Step>
    </section>
  );
}

function Begin({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="default" size="xs" onClick={onClick}>
      {label}
    </Button>
  );
}

function ToForm({ example: { workflowId } }: { example: WorkflowLine }) {
  return (
    <ButtonLink to="/workflows/$workflowId/run" params={{ workflowId }} variant="default" size="xs">
      Open the form
    </ButtonLink>
  );
}

function ToApi({ callable: { workflowId } }: { callable: WorkflowLine }) {
  return (
    <ButtonLink to="/workflows/$workflowId/api" params={{ workflowId }} variant="default" size="xs">
      Show the call
    </ButtonLink>
  );
}

interface StepProps {
  readonly at: number;
  readonly title: string;
  readonly done: boolean;
  readonly action: ReactNode;
  readonly children: ReactNode;
}

function Step({ at, title, done, action, children }: StepProps) {
  return (
    <div className={classes.step} data-done={done || undefined}>
      <span className={classes.mark} aria-hidden="true">
        {done ? <CheckIcon /> : at}
      </span>
      <div className={classes.content}>
        <h3 className={classes.title}>
          {title}
          {done && <span className="unseen"> (done)</span>}
        </h3>
        <p className={classes.words}>{children}</p>
        {!done && action}
      </div>
    </div>
  );
}
