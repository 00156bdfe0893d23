import { ActionIcon, Button, Group, Paper, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../app/acting.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { TrashIcon } from "../app/icons.tsx";
import { Refusal } from "../app/refusal.tsx";
import { toSentence } from "../app/sentence.ts";
import { useSession } from "../app/session.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { type SessionLine, sessionsQuery } from "./account.ts";
import { nameBrowser } from "./browsers.ts";
import classes from "./forms.module.css";

/** The password, and where it has been used to sign in. */
export function SecurityTab() {
  return (
    <Stack gap="xl">
      <PasswordForm />
      <Sessions />
    </Stack>
  );
}

function PasswordForm() {
  const { email } = useSession();
  const known = useQueryClient();
  const [currentPassword, setCurrent] = useState("");
  const [newPassword, setNew] = useState("");
  const change = useMutation({
    mutationFn: () => callApi("/api/password", { method: "PUT", body: { currentPassword, newPassword } }),
    onSuccess: () => {
      setCurrent("");
      setNew("");
      void known.invalidateQueries({ queryKey: ["sessions"] });
      notifications.show({ title: "The password is changed", message: "All other sessions have ended." });
    },
  });
  const problems = change.error instanceof ApiError ? change.error.details : [];
  const problemOf = (input: string): string | undefined => {
    const found = problems.find((problem) => problem.input === input);
    return found && toSentence(found.message);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Paper p="md" className={classes.card} component="section" aria-labelledby="password-title">
      <Title order={2} id="password-title" mb="sm">
        Password
      </Title>
      <form onSubmit={submit}>
        <Stack gap="sm" maw={360}>
          <input type="hidden" autoComplete="username" value={email} readOnly />
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            required
            error={problemOf("currentPassword")}
            value={currentPassword}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordInput
            label="New password"
            autoComplete="new-password"
            required
            error={problemOf("newPassword")}
            value={newPassword}
            onChange={(event) => setNew(event.currentTarget.value)}
          />
          {problems.length === 0 && <Refusal error={change.error} />}
          <Group>
            <Button type="submit" loading={change.isPending}>
              Change password
            </Button>
          </Group>
        </Stack>
      </form>
    </Paper>
  );
}

function Sessions() {
  const sessions = useQuery(sessionsQuery);
  const end = useAct({ stale: ["sessions"], refused: "The session was not ended" });
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>Sessions</Title>
        <Button
          variant="default"
          loading={end.isPending}
          disabled={(sessions.data?.length ?? 0) < 2}
          onClick={() => end.mutate({ path: "/api/sessions", method: "DELETE" })}
        >
          Sign out everywhere else
        </Button>
      </Group>
      {sessions.isPending && <LoadingRows count={3} label="The sessions are loading" />}
      {sessions.isError && <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {sessions.isSuccess && (
        <SessionTable
          sessions={sessions.data}
          onEnd={(id) => end.mutate({ path: `/api/sessions/${id}`, method: "DELETE" })}
        />
      )}
    </section>
  );
}

function SessionTable({ sessions, onEnd }: { sessions: readonly SessionLine[]; onEnd: (id: string) => void }) {
  return (
    <div className={tables.frame}>
      <table className={tables.table}>
        <thead>
          <tr>
            <th scope="col">Browser</th>
            <th scope="col">Last seen</th>
            <th scope="col" className={tables.wide}>
              Signed in
            </th>
            <th scope="col">End</th>
          </tr>
        </thead>
        <tbody>
          {sessions.map(({ sessionId, userAgent, seenAt, createdAt, current }) => (
            <tr key={sessionId}>
              <th scope="row" title={userAgent}>
                {nameBrowser(userAgent)}
              </th>
              <td className={tables.dimmed}>
                <Time at={seenAt} />
              </td>
              <td className={`${tables.wide} ${tables.dimmed}`}>
                <Time at={createdAt} as="short" />
              </td>
              <td className={tables.narrow}>
                {current ? (
                  <Text span size="sm">
                    This session
                  </Text>
                ) : (
                  <ActionIcon
                    aria-label={`End the session of ${nameBrowser(userAgent)}`}
                    onClick={() => onEnd(sessionId)}
                  >
                    <TrashIcon />
                  </ActionIcon>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
