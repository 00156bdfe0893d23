import { Text, Title } from "@mantine/core";
import { Time } from "../app/time.tsx";
import { toDuration } from "../app/time-text.ts";
import classes from "./aside.module.css";
import type { Attempt } from "./execution.ts";

/** Each try of the program, where there was more than one or there will be. */
export function Attempts({ attempts, isTriedAgain }: { attempts: readonly Attempt[]; isTriedAgain: boolean }) {
  if (attempts.length < 2 && !isTriedAgain) return null;
  return (
    <section>
      <Title order={2} size="h3" mb="xs">
        Attempts
      </Title>
      <ol className={classes.list}>
        {attempts.map(({ attempt, startedAt, endedAt, status, message }) => (
          <li key={attempt}>
            <div className={classes.line}>
              <span>
                {attempt}. {(status ?? (endedAt === null ? "running" : "lost with its worker")).replaceAll("_", " ")}
              </span>
              <Text span size="sm" c="dimmed">
                <Time at={startedAt} />
                {endedAt !== null && ` · ${toDuration((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}`}
              </Text>
            </div>
            {message !== "" && (
              <Text size="sm" c="dimmed">
                {message}
              </Text>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
