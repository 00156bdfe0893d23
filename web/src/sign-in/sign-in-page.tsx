import { Alert, Button, PasswordInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { callApi } from "../app/api.ts";
import { isOwnMachine } from "../app/own-machine.ts";
import { Refusal } from "../app/refusal.tsx";
import { noteSignedIn, type Session } from "../app/session.ts";
import { SignInCard } from "./card.tsx";

const route = getRouteApi("/sign-in");
const BELOW =
  "Treadle runs Python programs by a form, a call or a schedule. The first password is printed where the service was started. Others join by an invitation of an owner.";
const OF_CERTIFICATE = "If your browser warns about the certificate, bin/treadle trust ends that for good.";

/**
 * Asks for email address and password, and then leads to the page that was asked for. `ended`: the session has ended
 * there.
 */
export function SignInPage() {
  const { from, ended } = route.useSearch();
  const navigate = useNavigate();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  // Of a link that the operator made; browsers send what stands behind the # to nobody.
  const [link] = useState(() => (location.hash.length > 1 ? { code: location.hash.slice(1) } : {}));
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const signIn = useMutation({
    mutationFn: () => callApi<Session>("/api/session", { method: "POST", body: { email, password, ...link } }),
    onSuccess: (session) => {
      noteSignedIn(session);
      const address = ownAddress(from);
      // Temporal's pages are the service's, and none of the editor's.
      return isOutside(address) ? window.location.replace(address) : navigate({ href: address, replace: true });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!signIn.isPending) signIn.mutate();
  };
  return (
    <SignInCard title="Sign in" below={isOwnMachine() ? `${BELOW} ${OF_CERTIFICATE}` : BELOW}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          {ended !== undefined && !signIn.isError && (
            <Alert color="yellow" variant="light" role="alert" p="xs">
              You are signed out: your session ended, or you were removed from the account. Sign in to continue where
              you were.
            </Alert>
          )}
          <TextInput
            ref={first}
            label="Email address"
            type="email"
            name="email"
            autoComplete="username"
            required
            withAsterisk={false}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label="Password"
            name="password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Refusal error={signIn.error} />
          <Button type="submit" size="sm" loading={signIn.isPending}>
            Sign in
          </Button>
        </Stack>
      </form>
    </SignInCard>
  );
}

function isOutside(address: string): boolean {
  return /^\/temporal(?:[/?]|$)/.test(address);
}

/** Returns an address of our own only. A link to the sign-in must not lead on to a foreign page. */
function ownAddress(from: string | undefined): string {
  return from !== undefined && /^\/(?![/\\])/.test(from) ? from : "/";
}
