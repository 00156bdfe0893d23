import { Checkbox, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Credits } from "../app/credits.tsx";
import { useMayChange } from "../app/session.ts";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import classes from "./execution-table.module.css";
import type { ExecutionLine } from "./executions.ts";
import { hasEnded, State, TRIGGER_WORDS } from "./state.tsx";

const COMMIT_CHARACTERS = 7;

/** Lines of executions. Those that go on have a box, to be cancelled together. */
export function ExecutionTable(props: {
  readonly lines: readonly ExecutionLine[];
  readonly showsWorkflow: boolean;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (ids: ReadonlySet<string>) => void;
}) {
  const { lines, showsWorkflow, chosen, onChoose } = props;
  const mayChange = useMayChange();
  const going = lines.filter(({ status }) => !hasEnded(status)).map(({ executionId }) => executionId);
  const hasBoxes = mayChange && going.length > 0;
  const count = going.filter((id) => chosen.has(id)).length;
  const choose = (id: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    onChoose(next);
  };
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.links} ${tables.stacked} ${classes.runs}`}>
        <thead>
          <tr>
            {hasBoxes && (
              <th scope="col" className={classes.box}>
                <Checkbox
                  size="xs"
                  aria-label="Choose all that go on"
                  checked={count === going.length}
                  indeterminate={count > 0 && count < going.length}
                  onChange={(event) => onChoose(new Set(event.currentTarget.checked ? going : []))}
                />
              </th>
            )}
            <th scope="col">State</th>
            {showsWorkflow && <th scope="col">Workflow</th>}
            <th scope="col">Trigger</th>
            <th scope="col">Accepted</th>
            <th scope="col">Commit</th>
            <th scope="col" className={tables.figure}>
              Duration
            </th>
            <th scope="col" className={tables.figure}>
              Credits
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Row
              key={line.executionId}
              line={line}
              showsWorkflow={showsWorkflow}
              hasBoxes={hasBoxes}
              chosen={chosen.has(line.executionId)}
              onChoose={(on) => choose(line.executionId, on)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row(props: {
  readonly line: ExecutionLine;
  readonly showsWorkflow: boolean;
  readonly hasBoxes: boolean;
  readonly chosen: boolean;
  readonly onChoose: (on: boolean) => void;
}) {
  const { line, showsWorkflow, hasBoxes, chosen, onChoose } = props;
  const { executionId, status, message, duration, cost } = line;
  return (
    <tr>
      {hasBoxes && (
        <td className={classes.box}>
          {!hasEnded(status) && (
            <Checkbox
              size="xs"
              aria-label={`Choose the run of ${line.workflowName}, ${executionId}`}
              checked={chosen}
              onChange={(event) => onChoose(event.currentTarget.checked)}
            />
          )}
        </td>
      )}
      <td className={classes.state}>
        <Link to="/executions/$executionId" params={{ executionId }} className={classes.link}>
          <State state={status} failure={line.failure} />
        </Link>
        {/* That it was cancelled, its state says. */}
        {status !== "success" && status !== "cancelled" && message !== "" && (
          <Text size="sm" c="dimmed" lineClamp={1} title={message}>
            {message}
          </Text>
        )}
      </td>
      {showsWorkflow && <td className={tables.breaks}>{line.workflowName}</td>}
      <td>
        {TRIGGER_WORDS[line.trigger]}
        {line.draft && <span className={classes.draft}>Draft</span>}
      </td>
      <td className={classes.time}>
        <Time at={line.createdAt} />
      </td>
      <td>
        <code title={line.commitId}>{line.commitId.slice(0, COMMIT_CHARACTERS)}</code>
      </td>
      <td data-none={duration === null || undefined} className={`${tables.figure} number`}>
        {duration === null ? "–" : toDuration(duration)}
      </td>
      <td data-none={cost === null || undefined} className={tables.figure}>
        {cost === null ? "–" : <Credits amount={cost} />}
        <span className={classes.unit}> credits</span>
      </td>
    </tr>
  );
}
