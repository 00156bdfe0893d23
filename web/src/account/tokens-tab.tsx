import { ActionIcon, Button, Group, NativeSelect, Paper, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useAct } from "../app/acting.ts";
import { confirm } from "../app/confirm.ts";
import { OnceShown } from "../app/copy.tsx";
import { TrashIcon } from "../app/icons.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { type AccessToken, tokensQuery } from "./account.ts";
import classes from "./forms.module.css";

const NAME_CHARACTERS_MAX = 100;
const PERIODS = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
  { value: "", label: "No end" },
];

/** Tokens by which the command line acts as who is signed in. */
export function TokensTab() {
  const tokens = useQuery(tokensQuery);
  return (
    <>
      <Title order={2} mb={4}>
        Access tokens
      </Title>
      <Text c="dimmed" mb="md">
        The command line and scripts act as you with one. <code>treadle login</code> makes one for a computer; for a
        script, make one here and set <code>TREADLE_TOKEN</code>. To call a single workflow, use its own key.
      </Text>
      {tokens.isPending && <LoadingRows count={3} label="The tokens are loading" />}
      {tokens.isError && <ErrorState error={tokens.error} onRetry={() => void tokens.refetch()} />}
      {tokens.isSuccess && tokens.data.length === 0 && <EmptyState title="No token yet" />}
      {tokens.isSuccess && tokens.data.length > 0 && <Tokens tokens={tokens.data} />}
      <TokenForm />
    </>
  );
}

function Tokens({ tokens }: { tokens: readonly AccessToken[] }) {
  const revoke = useAct({ stale: ["tokens"], refused: "The token was not revoked" });
  return (
    <div className={tables.frame}>
      <table className={tables.table}>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Last used</th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span className="unseen">Revoke</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {tokens.map(({ tokenId, name, lastUsedAt, expiresAt }) => (
            <tr key={tokenId}>
              <th scope="row" className={tables.breaks}>
                {name}
              </th>
              <td className={tables.dimmed}>{lastUsedAt === null ? "Never" : <Time at={lastUsedAt} />}</td>
              <td className={tables.dimmed}>{expiresAt === null ? "Never" : <Time at={expiresAt} />}</td>
              <td className={tables.narrow}>
                <ActionIcon
                  aria-label={`Revoke ${name}`}
                  onClick={() =>
                    confirm({
                      title: `Revoke ${name}?`,
                      text: "Programs that use it are refused from then on.",
                      yes: "Revoke",
                      act: () => revoke.mutate({ path: `/api/tokens/${tokenId}`, method: "DELETE" }),
                    })
                  }
                >
                  <TrashIcon />
                </ActionIcon>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TokenForm() {
  const [name, setName] = useState("");
  const [days, setDays] = useState("90");
  const [made, setMade] = useState<{ readonly name: string; readonly token: string }>();
  const make = useAct<{ name: string; token: string }>({
    stale: ["tokens"],
    refused: "No token was made",
    onDone: (answer) => {
      setMade({ name, token: answer.token });
      setName("");
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body = { name: name.trim(), days: days === "" ? null : Number(days) };
    make.mutate({ path: "/api/tokens", method: "POST", body });
  };
  return (
    <Paper p="md" mt="xl" className={classes.card} component="section" aria-labelledby="token-title">
      <Title order={2} id="token-title" mb="sm">
        New token
      </Title>
      <Stack gap="md">
        <form onSubmit={submit}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="What it is for"
              required
              maxLength={NAME_CHARACTERS_MAX}
              flex="1 1 220px"
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <NativeSelect
              label="Valid for"
              data={PERIODS}
              value={days}
              onChange={(event) => setDays(event.currentTarget.value)}
            />
            <Button type="submit" size="sm" loading={make.isPending}>
              Create token
            </Button>
          </Group>
        </form>
        {made !== undefined && (
          <OnceShown
            label={`Token for ${made.name}`}
            value={made.token}
            description="Copy it now: it is shown only once. Anyone who has it can act as you."
          />
        )}
      </Stack>
    </Paper>
  );
}
