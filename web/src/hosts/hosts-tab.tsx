import { Progress, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fact, Facts } from "../app/facts.tsx";
import { LostPage } from "../app/lost-page.tsx";
import { useSession } from "../app/session.ts";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { Time } from "../app/time.tsx";
import states from "../executions/state.module.css";
import { addUp, type Host, type HostPrograms, hostsQuery, listOffers, loadOf, ROLE_WORDS, stateOf } from "./hosts.ts";
import classes from "./hosts-tab.module.css";

const PERCENT = 100;
const CARD_PX = 160;

/** The processes of the installation, for those who may look at it. For others there is no such page. */
export function HostsTab() {
  return useSession().seesHosts ? <HostsPage /> : <LostPage />;
}

function HostsPage() {
  const found = useQuery(hostsQuery);
  if (found.isPending) return <LoadingRows count={2} height={CARD_PX} label="The hosts are loading" />;
  if (found.isLoadingError) return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  const hosts = found.data ?? [];
  const { running, waiting, slots } = addUp(hosts);
  return (
    <>
      <Title order={2} mb={4}>
        Hosts
      </Title>
      <Text c="dimmed" mb="md">
        {running} of {slots} slots used{waiting > 0 && `, ${waiting} waiting`}. Each process reports every five seconds.
      </Text>
      <ul className={classes.hosts}>
        {hosts.map((host) => (
          <li key={host.hostId} className={classes.host}>
            <HostCard host={host} />
          </li>
        ))}
      </ul>
    </>
  );
}

function HostCard({ host }: { host: Host }) {
  const { hostId, role, version, saidAt, programs } = host;
  const { label, tone } = stateOf(host);
  return (
    <article aria-label={hostId}>
      <div className={classes.head}>
        <Title order={3} size="h4">
          {ROLE_WORDS[role]}
        </Title>
        <span className={states.state} data-tone={tone}>
          <span className={states.dot} aria-hidden="true" />
          {label}
        </span>
      </div>
      <Text size="sm" c="dimmed" mb="sm" className={classes.id}>
        {hostId}
      </Text>
      {programs !== null && <Slots programs={programs} />}
      <Facts>
        <Fact name="Version">{version}</Fact>
        <Fact name="Last report">
          <Time at={saidAt} />
        </Fact>
        {programs !== null && <Offers programs={programs} />}
      </Facts>
      {programs?.problems.map((problem) => (
        <Text key={problem} size="sm" mt="sm" className={classes.problem}>
          {problem}
        </Text>
      ))}
    </article>
  );
}

function Slots({ programs: { running, slots, waiting } }: { programs: HostPrograms }) {
  const words = `${running} of ${slots} slots used${waiting > 0 ? `, ${waiting} waiting` : ""}`;
  return (
    <>
      <Text size="sm">{words}</Text>
      <Progress.Root size="md" mt={4} mb="sm">
        <Progress.Section
          value={slots === 0 ? 0 : Math.min(PERCENT, (running / slots) * PERCENT)}
          aria-label="Slots used"
          aria-valuetext={words}
        />
      </Progress.Root>
    </>
  );
}

function Offers({ programs }: { programs: HostPrograms }) {
  const load = loadOf(programs);
  return (
    <>
      {load !== undefined && <Fact name="Load">{load}</Fact>}
      {listOffers(programs).map(([name, words]) => (
        <Fact key={name} name={name}>
          {words}
        </Fact>
      ))}
    </>
  );
}
