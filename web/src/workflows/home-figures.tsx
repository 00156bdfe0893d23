import { Skeleton, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AccountOverview, overviewOfAccountQuery } from "../account/account.ts";
import { Credits } from "../app/credits.tsx";
import { toDay } from "../app/time-text.ts";
import classes from "./home.module.css";

/** Figures of the service end here: more is said as "1,000+". */
const COUNTED_MAX = 1_000;

/** How the account stands: what runs now, what waits, what fails, and how long the credits last. */
export function HomeFigures() {
  const { data } = useQuery(overviewOfAccountQuery);
  // Its place is kept: what follows must not move when the figures come. Without them the list below is as good.
  if (data === undefined)
    return <Skeleton className={classes.waiting} role="status" aria-label="The figures are loading" />;
  const { running, queued, failing, available } = data;
  return (
    <dl className={classes.figures} aria-label="The account now">
      <Figure name="Running now" note="Programs running">
        <Link to="/executions" search={{ state: "running" }}>
          {toCount(running)}
        </Link>
      </Figure>
      <Figure name="Queued" note="Waiting for a slot">
        <Link to="/executions" search={{ state: "queued" }}>
          {toCount(queued)}
        </Link>
      </Figure>
      <Figure name="Failing" note={<FailingNote failing={failing} />} tone={failing.count > 0 ? "failure" : undefined}>
        {failing.count}
      </Figure>
      <Figure name="Available" note={describeEnd(data)}>
        <Link to="/account">
          <Credits amount={available} />
        </Link>
      </Figure>
    </dl>
  );
}

function Figure(props: {
  readonly name: string;
  readonly note: ReactNode;
  readonly tone?: "failure" | undefined;
  readonly children: ReactNode;
}) {
  const { name, note, tone, children } = props;
  return (
    <div>
      <dt>{name}</dt>
      <dd className={`number ${classes.amount}`} data-tone={tone}>
        {children}
      </dd>
      <dd className={classes.note}>{note}</dd>
    </div>
  );
}

/** The workflows whose newest run failed, each with the way to that run. */
function FailingNote({ failing: { count, newest } }: { failing: AccountOverview["failing"] }) {
  if (count === 0) return "No workflow fails";
  const more = count - newest.length;
  return (
    <>
      {newest.map(({ executionId, name, message }, at) => (
        <span key={executionId}>
          {at > 0 && ", "}
          <Link to="/executions/$executionId" params={{ executionId }} title={message}>
            {name}
          </Link>
        </span>
      ))}
      {more > 0 && ` and ${more} more`}
    </>
  );
}

function toCount(count: number): string {
  return count >= COUNTED_MAX ? `${COUNTED_MAX.toLocaleString("en")}+` : String(count);
}

/** How long the credits last: "At this rate until 3 January". */
function describeEnd({ available, spentPerDay, lastsUntil }: AccountOverview): ReactNode {
  if (available <= 0)
    return (
      <Text span inherit c="red">
        Nothing can run
      </Text>
    );
  if (lastsUntil !== null) return `At this rate until ${toDay(new Date(lastsUntil), new Date())}`;
  return spentPerDay === 0 ? "Credits; nothing spent this week" : "Credits; enough for years";
}
