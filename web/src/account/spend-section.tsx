import { Group, SegmentedControl, Text, Title } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Credits, toCreditText } from "../app/credits.tsx";
import { DayChart } from "../app/day-chart.tsx";
import { ErrorState, LoadingRows } from "../app/states.tsx";
import { spendQuery } from "./account.ts";
import { COLOURS, type Spend, stackSpend } from "./spend.ts";
import classes from "./spend-section.module.css";

const CHART_PX = 220;
const PERIODS = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
];

/** What workflows cost, day by day. */
export function SpendSection() {
  const [days, setDays] = useState("30");
  const spend = useQuery({ ...spendQuery(Number(days)), placeholderData: keepPreviousData });
  return (
    <section>
      <Group justify="space-between" mb="xs">
        <Title order={2}>Spend</Title>
        <SegmentedControl size="xs" data={PERIODS} value={days} onChange={setDays} aria-label="Period" />
      </Group>
      {spend.isPending && <LoadingRows count={1} height={220} label="The spend is loading" />}
      {spend.isError && <ErrorState error={spend.error} onRetry={() => void spend.refetch()} />}
      {spend.isSuccess && <SpendFigures spend={spend.data} />}
    </section>
  );
}

function SpendFigures({ spend }: { spend: Spend }) {
  const series = stackSpend(spend.workflows);
  const total = spend.workflows.reduce((sum, workflow) => sum + workflow.total, 0);
  if (total === 0) return <Text c="dimmed">Nothing was spent in these days.</Text>;
  return (
    <div className={classes.card}>
      <Text>
        <Credits amount={total} unit /> in {spend.days.length} days
      </Text>
      <DayChart
        label="Credits a day, by workflow"
        days={spend.days}
        series={series.map(({ name, perDay }, at) => ({ name, perDay, colour: COLOURS[at] ?? "" }))}
        addsUp
        height={CHART_PX}
        toText={toCreditText}
      />
      <ul className={classes.legend}>
        {series.map(({ name, total: amount }, index) => (
          <li key={name}>
            <span className={classes.swatch} style={{ background: COLOURS[index] }} aria-hidden="true" />
            <span className={classes.name}>{name}</span>
            <Credits amount={amount} />
          </li>
        ))}
      </ul>
    </div>
  );
}
