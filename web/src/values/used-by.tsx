import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { Value } from "./values.ts";

const SHOWN = 5;

/** The workflows whose latest commit names a value, as links. */
export function UsedBy({ workflows }: { workflows: Value["usedBy"] }) {
  const more = workflows.length - SHOWN;
  return (
    <span>
      {workflows.slice(0, SHOWN).map(({ workflowId, name }, at) => (
        <Fragment key={workflowId}>
          {at > 0 && ", "}
          <Link to="/workflows/$workflowId/overview" params={{ workflowId }}>
            {name}
          </Link>
        </Fragment>
      ))}
      {more > 0 && ` and ${more} more`}
    </span>
  );
}
