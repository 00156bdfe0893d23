import { Badge, Button, Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAct } from "../app/acting.ts";
import { useMayChange } from "../app/session.ts";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import values from "../values/value-table.module.css";
import classes from "./notices.module.css";
import { NOTICE_WORDS, type Notice, sentQuery } from "./notices.ts";

const STATES = {
  waiting: { word: "On its way", color: "gray" },
  delivered: { word: "Delivered", color: "green" },
  failed: { word: "Not delivered", color: "red" },
} as const;

/** Every message with the last answer of its receiver, the newest first. */
export function SentSection() {
  const sent = useInfiniteQuery(sentQuery);
  const notices = sent.data?.pages.flatMap((page) => page.notices) ?? [];
  return (
    <section aria-labelledby="sent-title">
      <Title order={2} mb="xs" id="sent-title">
        Sent
      </Title>
      {sent.isPending && <LoadingRows count={3} label="What was sent is loading" />}
      {sent.isLoadingError && <ErrorState error={sent.error} onRetry={() => void sent.refetch()} />}
      {sent.isSuccess && notices.length === 0 && <EmptyState title="Nothing was sent yet" />}
      {notices.length > 0 && (
        <div className={tables.frame}>
          <table className={`${tables.table} ${tables.stacked} ${values.values}`}>
            <thead>
              <tr>
                <th scope="col">What</th>
                <th scope="col">To</th>
                <th scope="col">When</th>
                <th scope="col">Answer</th>
                <th scope="col">
                  <span className="unseen">Send again</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {notices.map((notice) => (
                <SentRow key={notice.noticeId} notice={notice} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {sent.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={sent.isFetchingNextPage} onClick={() => void sent.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
    </section>
  );
}

function SentRow({ notice }: { readonly notice: Notice }) {
  const { noticeId, place, kind, createdAt, dueAt, more, state, attempts, answer } = notice;
  const { word, color } = STATES[state];
  const to = place ?? "Webhook-Url";
  return (
    <tr>
      <th scope="row">
        <About notice={notice} />
        {more > 0 && (
          <Text size="sm" c="dimmed">
            and {more} more
          </Text>
        )}
      </th>
      <td data-label="To">
        <code>{to}</code>
      </td>
      <td data-label="When">
        <Time at={createdAt} as="short" />
      </td>
      <td data-label="Answer">
        <div>
          <Badge size="sm" variant="light" color={color}>
            {word}
          </Badge>
          {answer !== "" && (
            <Text size="sm" c="dimmed" className={classes.answer ?? ""}>
              {answer}
            </Text>
          )}
          {attempts > 1 && (
            <Text size="sm" c="dimmed">
              {attempts} tries
            </Text>
          )}
          {attempts === 0 && state === "waiting" && dueAt > createdAt && (
            <Text size="sm" c="dimmed">
              due <Time at={dueAt} />
            </Text>
          )}
        </div>
      </td>
      <td className={tables.narrow}>
        <Again noticeId={noticeId} what={`${NOTICE_WORDS[kind]} to ${to}`} />
      </td>
    </tr>
  );
}

function About({ notice: { kind, executionId, workflowId } }: { readonly notice: Notice }) {
  const word = NOTICE_WORDS[kind];
  if (executionId !== null) {
    return (
      <Link to="/executions/$executionId" params={{ executionId }}>
        {word}
      </Link>
    );
  }
  if (workflowId === null) return word;
  return (
    <Link to="/workflows/$workflowId/schedule" params={{ workflowId }}>
      {word}
    </Link>
  );
}

function Again({ noticeId, what }: { readonly noticeId: string; readonly what: string }) {
  const mayChange = useMayChange();
  const again = useAct({ stale: ["notices"], refused: "It was not sent again" });
  if (!mayChange) return null;
  return (
    <Button
      variant="default"
      size="compact-sm"
      aria-label={`Send again: ${what}`}
      loading={again.isPending}
      onClick={() => again.mutate({ path: `/api/notices/${noticeId}/send`, method: "POST" })}
    >
      Send again
    </Button>
  );
}
