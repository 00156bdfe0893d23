import { Alert, Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { z } from "zod";
import type { AnsweredDevice, DeviceToLetIn } from "../../../domain/api/device-codes.ts";
import { callApi } from "../app/api.ts";
import { Fact, Facts } from "../app/facts.tsx";
import { Refusal } from "../app/refusal.tsx";
import { useSession } from "../app/session.ts";
import { LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import { SignInCard } from "./card.tsx";

type Device = z.infer<typeof DeviceToLetIn>;
type Answered = z.infer<typeof AnsweredDevice>;

/**
 * Lets a command line in, or not. Its code stands behind the # of the address, which browsers do not send. Nothing happens
 * until a button is pressed.
 */
export function DevicePage() {
  const [userCode, setCode] = useState(() => location.hash.slice(1));
  const [answered, setAnswered] = useState<Answered>();
  return (
    <SignInCard title={answered === undefined ? "Sign in the command line" : toTitle(answered)}>
      {answered !== undefined ? (
        <Text role="status">
          {answered.allowed
            ? `The command line on ${answered.name} goes on by itself. You can close this page.`
            : "It got no access. You can close this page."}
        </Text>
      ) : userCode === "" ? (
        <CodeForm onCode={setCode} />
      ) : (
        <Question userCode={userCode} onAnswered={setAnswered} onOther={() => setCode("")} />
      )}
    </SignInCard>
  );
}

function toTitle({ allowed }: Answered): string {
  return allowed ? "Signed in" : "Refused";
}

function CodeForm({ onCode }: { onCode: (code: string) => void }) {
  const [typed, setTyped] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onCode(typed.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Code"
          description="treadle login prints it: eight letters."
          required
          withAsterisk={false}
          autoComplete="off"
          placeholder="ABCD-EFGH"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit" size="sm">
          Continue
        </Button>
      </Stack>
    </form>
  );
}

function Question(given: { userCode: string; onAnswered: (answer: Answered) => void; onOther: () => void }) {
  const { userCode, onAnswered, onOther } = given;
  const device = useQuery({
    queryKey: ["device", userCode],
    queryFn: () => callApi<Device>("/api/device-codes/look", { method: "POST", body: { userCode } }),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const answer = useMutation({
    mutationFn: (allow: boolean) =>
      callApi<Answered>("/api/device-codes/answer", { method: "POST", body: { userCode, allow } }),
    onSuccess: onAnswered,
  });
  if (device.isPending) return <LoadingRows count={3} label="Looking for the command line" />;
  const refusal = device.error ?? answer.error;
  if (refusal !== null)
    return (
      <Stack gap="sm">
        <Refusal error={refusal} />
        <Button variant="default" size="sm" onClick={onOther}>
          Type another code
        </Button>
      </Stack>
    );
  return (
    <Stack gap="md">
      <Text>
        Let the command line on <b>{device.data?.name}</b> use your account?
      </Text>
      {device.data !== undefined && <DeviceFacts userCode={userCode} device={device.data} />}
      <Alert color="yellow" variant="light" p="xs">
        Allow it only if you ran <code>treadle login</code> yourself just now, and it shows the same code.
      </Alert>
      <Group gap="sm" grow>
        <Button variant="default" size="sm" loading={answer.isPending} onClick={() => answer.mutate(false)}>
          Refuse
        </Button>
        <Button size="sm" loading={answer.isPending} onClick={() => answer.mutate(true)}>
          Allow
        </Button>
      </Group>
    </Stack>
  );
}

function DeviceFacts({ userCode, device }: { userCode: string; device: Device }) {
  const { email, accountName, role } = useSession();
  return (
    <Facts>
      <Fact name="Code">
        <b>{toShownCode(userCode)}</b>
      </Fact>
      <Fact name="Asked from">{device.address}</Fact>
      <Fact name="Asked">
        <Time at={device.createdAt} />
      </Fact>
      <Fact name="Account">{accountName}</Fact>
      <Fact name="It acts as">
        {email}, {role}
      </Fact>
      <Fact name="Valid for">{device.tokenDays} days, or until you revoke it under Account, Tokens</Fact>
    </Facts>
  );
}

/** As the command line prints it, however it was typed. */
function toShownCode(typed: string): string {
  const letters = typed.toUpperCase().replaceAll(/[^A-Z]/g, "");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}
