import { Button, Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Credits } from "../app/credits.tsx";
import { EmptyState, ErrorState, LoadingRows } from "../app/states.tsx";
import tables from "../app/table.module.css";
import { Time } from "../app/time.tsx";
import { accountQuery, type LedgerLine, ledgerQuery } from "./account.ts";
import classes from "./credits-tab.module.css";
import { SpendSection } from "./spend-section.tsx";
import { StorageSection } from "./storage-section.tsx";

/** What there is of credits, what they went to, and every movement. */
export function CreditsTab() {
  const account = useQuery(accountQuery);
  if (account.isPending) return <LoadingRows label="The account is loading" />;
  if (account.isError) return <ErrorState error={account.error} onRetry={() => void account.refetch()} />;
  const { balance, reserved, available, storage, contact } = account.data;
  return (
    <div className={classes.sections}>
      <div className={classes.summary}>
        <section aria-label="Credits">
          <Title order={2} mb="xs">
            Credits
          </Title>
          <dl className={classes.figures}>
            <Figure name="Available" amount={available} />
            <Figure name="Reserved for open runs" amount={reserved} />
            <Figure name="Balance" amount={balance} />
          </dl>
          {contact !== null && (
            <Text size="sm" c="dimmed" mt="xs">
              For more credits, ask {contact}.
            </Text>
          )}
        </section>
        <StorageSection storage={storage} contact={contact} />
      </div>
      <SpendSection />
      <Ledger />
    </div>
  );
}

function Figure({ name, amount }: { name: string; amount: number }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Credits amount={amount} />
      </dd>
    </div>
  );
}

function Ledger() {
  const ledger = useInfiniteQuery(ledgerQuery);
  const entries = ledger.data?.pages.flatMap((page) => page.entries) ?? [];
  return (
    <section>
      <Title order={2} mb="xs">
        Ledger
      </Title>
      {ledger.isPending && <LoadingRows label="The ledger is loading" />}
      {ledger.isError && <ErrorState error={ledger.error} onRetry={() => void ledger.refetch()} />}
      {ledger.isSuccess && entries.length === 0 && (
        <EmptyState title="Nothing has moved yet">Grants and what runs cost are listed here.</EmptyState>
      )}
      {entries.length > 0 && (
        <div className={tables.frame}>
          <table className={tables.table}>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">What</th>
                <th scope="col" className={tables.figure}>
                  Credits
                </th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <tr key={entry.id}>
                  <td className={tables.narrow}>
                    <Time at={entry.createdAt} as="short" />
                  </td>
                  <td className={tables.breaks}>
                    <EntryWords entry={entry} />
                  </td>
                  <td className={tables.figure}>
                    {entry.amount > 0 && "+"}
                    <Credits amount={entry.amount} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {ledger.hasNextPage && (
        <Group justify="center" mt="md">
          <Button variant="default" loading={ledger.isFetchingNextPage} onClick={() => void ledger.fetchNextPage()}>
            Show more
          </Button>
        </Group>
      )}
    </section>
  );
}

const KIND_WORDS: Readonly<Record<string, string>> = { grant: "Grant", adjustment: "Adjustment", settlement: "Run" };

function EntryWords({ entry }: { entry: LedgerLine }) {
  const { kind, executionId, workflowName, reason } = entry;
  if (executionId !== null) {
    return (
      <Link to="/executions/$executionId" params={{ executionId }}>
        Run of {workflowName ?? "a deleted workflow"}
      </Link>
    );
  }
  return (
    <>
      {KIND_WORDS[kind] ?? kind}
      {reason !== null && reason !== "" && (
        <Text span c="dimmed">
          {" · "}
          {reason}
        </Text>
      )}
    </>
  );
}
