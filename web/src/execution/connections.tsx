import { Badge, Button, Text, Title } from "@mantine/core";
import { useState } from "react";
import { formatBytes } from "../../../domain/manifest/sizes.ts";
import classes from "./aside.module.css";
import type { Attempt } from "./execution.ts";

type Connections = NonNullable<Attempt["connections"]>;
type Traffic = Pick<Connections["destinations"][number], "sentBytes" | "receivedBytes" | "refused">;

/** So many are shown without being asked for. */
const SHOWN_MAX = 8;

/** What each attempt connected to, where it had a network. */
export function ConnectionsMade({ attempts }: { attempts: readonly Attempt[] }) {
  const seen = attempts.flatMap(({ attempt, connections }) => (connections === null ? [] : [{ attempt, connections }]));
  if (seen.length === 0) return null;
  return (
    <section aria-labelledby="connections">
      <Title order={2} size="h3" mb="xs" id="connections">
        Connections
      </Title>
      {seen.map(({ attempt, connections }) => (
        <div key={attempt}>
          {seen.length > 1 && (
            <Text size="sm" c="dimmed" mt="xs">
              Attempt {attempt}
            </Text>
          )}
          <ConnectionList connections={connections} />
        </div>
      ))}
    </section>
  );
}

function ConnectionList({ connections: { destinations, more } }: { connections: Connections }) {
  const [all, setAll] = useState(false);
  // What is new is what somebody looks for.
  const inOrder = [...destinations.filter((one) => one.isNew), ...destinations.filter((one) => !one.isNew)];
  const shown = all ? inOrder : inOrder.slice(0, SHOWN_MAX);
  if (destinations.length === 0) return <Text c="dimmed">It connected to nothing.</Text>;
  return (
    <>
      <ul className={classes.list}>
        {shown.map(({ name, address, port, protocol, isNew, ...traffic }) => (
          <li key={`${address}:${port}/${protocol}`}>
            <div className={classes.destination}>
              <span title={name === null ? undefined : address}>
                {name ?? address}:{port}
                {protocol === "udp" && " (UDP)"}
              </span>
              {isNew && (
                <Badge size="sm" variant="light" title="No run of this workflow had connected to it before.">
                  New
                </Badge>
              )}
            </div>
            <Text size="sm" c="dimmed">
              {describeTraffic(traffic)}
            </Text>
          </li>
        ))}
        {more !== null && (
          <li>
            <div>{more.connections === 0 ? "and others" : `and ${more.connections} more connections`}</div>
            <Text size="sm" c="dimmed">
              {describeTraffic(more)}
            </Text>
          </li>
        )}
      </ul>
      {inOrder.length > shown.length && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setAll(true)}>
          Show all {inOrder.length}
        </Button>
      )}
    </>
  );
}

function describeTraffic({ sentBytes, receivedBytes, refused }: Traffic): string {
  const volume = `${formatBytes(sentBytes)} sent, ${formatBytes(receivedBytes)} received`;
  if (refused === 0) return volume;
  return sentBytes === 0 ? `refused, ${refused} ×` : `${volume}, refused ${refused} ×`;
}
