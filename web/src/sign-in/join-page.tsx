import { Button, Loader, PasswordInput, Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { z } from "zod";
import type { InvitationFor } from "../../../domain/api/people.ts";
import { callApi } from "../app/api.ts";
import { ApiError } from "../app/api-error.ts";
import { Refusal } from "../app/refusal.tsx";
import { toSentence } from "../app/sentence.ts";
import { noteSignedIn, type Session } from "../app/session.ts";
import { ErrorState } from "../app/states.tsx";
import { SignInCard } from "./card.tsx";

type Invitation = z.infer<typeof InvitationFor>;

/** Taking up an invitation. Its secret stands behind the # of the address, which browsers do not send. */
export function JoinPage() {
  const [token] = useState(() => location.hash.slice(1));
  const invitation = useQuery({
    queryKey: ["join", token],
    queryFn: () => callApi<Invitation>("/api/join/look", { method: "POST", body: { token } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <SignInCard title="Join">
      {invitation.isPending && <Loader aria-label="Looking at the invitation" />}
      {invitation.isError && <ErrorState error={invitation.error} />}
      {invitation.isSuccess && <JoinForm token={token} invitation={invitation.data} />}
    </SignInCard>
  );
}

function JoinForm({ token, invitation }: { token: string; invitation: Invitation }) {
  const navigate = useNavigate();
  const [password, setPassword] = useState("");
  const join = useMutation({
    mutationFn: () => callApi<Session>("/api/join", { method: "POST", body: { token, password } }),
    onSuccess: (session) => {
      noteSignedIn(session);
      return navigate({ to: "/", replace: true });
    },
  });
  const problem = join.error instanceof ApiError ? join.error.details[0]?.message : undefined;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!join.isPending) join.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text>
          You are invited to <b>{invitation.accountName}</b> as {invitation.role}.
        </Text>
        {/* Password managers keep a password together with the name beside it. */}
        <input type="hidden" name="email" autoComplete="username" value={invitation.email} readOnly />
        <PasswordInput
          label={`Password for ${invitation.email}`}
          description="Choose the one to sign in with from now on. Long is better than complicated."
          required
          autoComplete="new-password"
          name="password"
          error={problem === undefined ? undefined : toSentence(problem)}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        {problem === undefined && <Refusal error={join.error} />}
        <Button type="submit" size="sm" loading={join.isPending}>
          Join
        </Button>
      </Stack>
    </form>
  );
}
