import { ActionIcon, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { hasRight } from "../../../domain/members.ts";
import { Hint } from "../app/hint.tsx";
import { ClockIcon, RepeatIcon, TrashIcon } from "../app/icons.tsx";
import { useSession } from "../app/session.ts";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { workflowsQuery } from "../workflows/workflows.ts";
import { UsedBy } from "./used-by.tsx";
import classes from "./value-table.module.css";
import type { Kind, Value } from "./values.ts";

/** What is to be done about a value. */
export interface Asked {
  readonly what: "set" | "history" | "removal";
  readonly value: Value;
}

interface Props {
  readonly kind: Kind;
  readonly values: readonly Value[];
  readonly onAsk: (asked: Asked) => void;
  /** Then which one it is for needs no column, nor which use it. */
  readonly isOfOneWorkflow: boolean;
}

/** What is set, with who set it and which workflows name it. */
export function ValueTable({ kind, values, onAsk, isOfOneWorkflow }: Props) {
  return (
    <div className={tables.frame}>
      <table className={`${tables.table} ${tables.stacked} ${classes.values}`}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            {!isOfOneWorkflow && <th scope="col">For</th>}
            {kind === "variable" && <th scope="col">Value</th>}
            <th scope="col">Set</th>
            <th scope="col">Last used</th>
            {!isOfOneWorkflow && <th scope="col">Used by</th>}
            <th scope="col">
              <span className="unseen">Change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {values.map((value) => (
            <ValueRow
              key={`${value.workflowId} ${value.name}`}
              value={value}
              onAsk={onAsk}
              isOfOneWorkflow={isOfOneWorkflow}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ValueRow({ value, onAsk, isOfOneWorkflow }: Omit<Props, "kind" | "values"> & { readonly value: Value }) {
  const { name, workflowId, version, setBy, setAt, lastUsedAt, usedBy } = value;
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
      </th>
      {!isOfOneWorkflow && (
        <td data-label="For">
          <ForWhich workflowId={workflowId} />
        </td>
      )}
      {value.value !== undefined && (
        <td data-label="Value">
          <code className={classes.text}>{value.value}</code>
        </td>
      )}
      <td data-label="Set">
        <div>
          <Time at={setAt} />
          <Text size="sm" c="dimmed">
            version {version}, by {setBy}
          </Text>
        </div>
      </td>
      <td data-label="Last used">
        {lastUsedAt === null ? <span className={tables.dimmed}>Never</span> : <Time at={lastUsedAt} />}
      </td>
      {!isOfOneWorkflow && (
        <td data-label="Used by">
          {usedBy.length === 0 ? <span className={tables.dimmed}>None</span> : <UsedBy workflows={usedBy} />}
        </td>
      )}
      <td className={tables.narrow}>
        <Actions value={value} onAsk={onAsk} />
      </td>
    </tr>
  );
}

function ForWhich({ workflowId }: { workflowId: string | null }) {
  const { data: workflows = [] } = useQuery(workflowsQuery());
  if (workflowId === null) return "All workflows";
  const name = workflows.find((workflow) => workflow.workflowId === workflowId)?.name ?? workflowId;
  return (
    <span>
      <Link to="/workflows/$workflowId/settings" params={{ workflowId }}>
        {name}
      </Link>
    </span>
  );
}

/** What all workflows get is for owners to change; what one workflow gets, for members, too. */
function Actions({ value, onAsk }: { readonly value: Value; readonly onAsk: Props["onAsk"] }) {
  const { role } = useSession();
  const mayChange = hasRight(role, value.workflowId === null ? "own" : "write");
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {mayChange && (
        <Action
          label={`New value of ${value.name}`}
          icon={<RepeatIcon />}
          onClick={() => onAsk({ what: "set", value })}
        />
      )}
      <Action
        label={`History of ${value.name}`}
        icon={<ClockIcon />}
        onClick={() => onAsk({ what: "history", value })}
      />
      {mayChange && (
        <Action label={`Remove ${value.name}`} icon={<TrashIcon />} onClick={() => onAsk({ what: "removal", value })} />
      )}
    </Group>
  );
}

function Action({ label, icon, onClick }: { label: string; icon: ReactNode; onClick: () => void }) {
  return (
    <Hint label={label}>
      <ActionIcon aria-label={label} onClick={onClick}>
        {icon}
      </ActionIcon>
    </Hint>
  );
}
