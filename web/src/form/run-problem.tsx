import { Alert } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import type { FileProblem, InputProblem } from "../../../domain/errors.ts";
import type { Input } from "../../../domain/manifest/manifest.ts";
import { messageOf } from "../../../domain/message-of.ts";
import { ApiError } from "../app/api-error.ts";
import { AlertIcon } from "../app/icons.tsx";
import classes from "./run-problem.module.css";

/** Why nothing was run: what does not stand at one of the form's controls. */
export function RunProblem({ error, inputs }: { error: unknown; inputs: readonly Input[] }) {
  if (error === undefined) return null;
  const known = error instanceof ApiError ? error : undefined;
  const names = new Set(inputs.map(({ name }) => name));
  const details: readonly (InputProblem | FileProblem)[] = known?.details ?? [];
  const { buildLog } = known?.body ?? {};
  return (
    <Alert
      mt="lg"
      color="red"
      variant="light"
      icon={<AlertIcon />}
      role="alert"
      title={known?.error ?? "This did not work"}
    >
      {messageOf(error)}
      {known?.status === 402 && (
        <div>
          What you entered is still here. <Link to="/account">See the account's credits and whom to ask</Link>
        </div>
      )}
      {details.map((detail, index) => {
        if ("file" in detail) return <FilePlace key={index} problem={detail} />;
        return names.has(detail.input) ? null : <div key={index}>{`${detail.input} ${detail.message}`}</div>;
      })}
      {typeof buildLog === "string" && (
        <pre className={classes.log} tabIndex={0} aria-label="What the build said">
          {buildLog}
        </pre>
      )}
    </Alert>
  );
}

/** Of a draft: leads to where it is. */
function FilePlace({ problem }: { problem: FileProblem }) {
  const { workflowId } = useParams({ strict: false });
  const { file, line, column, message } = problem;
  const place = `${file}:${line}:${column}`;
  return (
    <div>
      {workflowId === undefined ? (
        place
      ) : (
        <Link to="/workflows/$workflowId/code" params={{ workflowId }} search={{ file, line: String(line) }}>
          {place}
        </Link>
      )}{" "}
      {message}
    </div>
  );
}
