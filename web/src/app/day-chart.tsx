import { useElementSize } from "@mantine/hooks";
import classes from "./day-chart.module.css";
import { roundUp, roundUpCount } from "./scale.ts";

const WIDTH_BEFORE = 720;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;
const LINES = 4;
const LABEL_PX = 64;
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

export interface DaySeries {
  readonly name: string;
  readonly colour: string;
  /** An amount for each of the days. */
  readonly perDay: readonly number[];
}

/**
 * Draws a bar for each day: amounts that add up stand on each other, others in front of each other, the largest first. The
 * numbers are in a table for those who cannot see them.
 */
export function DayChart(props: {
  readonly label: string;
  readonly days: readonly string[];
  readonly series: readonly DaySeries[];
  readonly addsUp: boolean;
  /** Whether amounts are counts, whose scale has whole numbers alone. */
  readonly counts?: boolean;
  readonly height: number;
  readonly toText: (amount: number) => string;
}) {
  const { label, days, series, addsUp, counts = false, height, toText } = props;
  const listDay = (at: number): number[] => series.map(({ perDay }) => perDay[at] ?? 0);
  const totals = days.map((_, at) => listDay(at).reduce((sum, each) => (addsUp ? sum + each : Math.max(sum, each)), 0));
  const most = Math.max(...totals);
  const top = counts ? roundUpCount(most, LINES) : roundUp(most);
  const { ref, width: seen } = useElementSize();
  const width = seen === 0 ? WIDTH_BEFORE : seen;
  const step = (width - LEFT) / days.length;
  const toY = (amount: number): number => TOP + (height - TOP - BOTTOM) * (1 - amount / top);
  const labelEvery = Math.ceil(LABEL_PX / step);
  return (
    <div ref={ref}>
      <svg
        className={classes.chart}
        viewBox={`0 0 ${width} ${height}`}
        style={{ height }}
        role="img"
        aria-label={label}
      >
        {Array.from({ length: LINES + 1 }, (_, line) => (top / LINES) * line).map((amount) => (
          <g key={amount}>
            <line x1={LEFT} x2={width} y1={toY(amount)} y2={toY(amount)} className={classes.grid} />
            <text x={LEFT - 8} y={toY(amount) + 3.5} textAnchor="end" className={classes.label}>
              {toText(amount)}
            </text>
          </g>
        ))}
        {days.map((date, at) => (
          <g key={date}>
            <title>{`${day.format(new Date(date))}: ${describeDay(series, at, toText)}`}</title>
            <rect x={LEFT + step * at} y={TOP} width={step} height={height - TOP - BOTTOM} className={classes.column} />
            <Bars
              series={series}
              amounts={listDay(at)}
              addsUp={addsUp}
              x={LEFT + step * (at + 0.14)}
              width={step * 0.72}
              toY={toY}
            />
            {at % labelEvery === 0 && (
              <text {...placeLabel(LEFT + step * (at + 0.5), width)} y={height - 4} className={classes.label}>
                {day.format(new Date(date))}
              </text>
            )}
          </g>
        ))}
      </svg>
      <DayTable label={label} days={days} series={series} toText={toText} />
    </div>
  );
}

function describeDay(series: readonly DaySeries[], at: number, toText: (amount: number) => string): string {
  const named = series.filter(({ perDay }) => (perDay[at] ?? 0) > 0);
  return named.length === 0 ? "none" : named.map(({ name, perDay }) => `${name} ${toText(perDay[at] ?? 0)}`).join(", ");
}

/** In an element of its own: a table cannot be made lower than its rows. */
function DayTable(props: {
  readonly label: string;
  readonly days: readonly string[];
  readonly series: readonly DaySeries[];
  readonly toText: (amount: number) => string;
}) {
  const { label, days, series, toText } = props;
  return (
    <div className="unseen">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map((date, at) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              {series.map(({ name, perDay }) => (
                <td key={name}>{toText(perDay[at] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Below the middle of its bar; at the edge where it would be cut there. */
function placeLabel(x: number, width: number) {
  return x + LABEL_PX / 2 > width ? { x: width, textAnchor: "end" as const } : { x, textAnchor: "middle" as const };
}

function Bars(props: {
  series: readonly DaySeries[];
  amounts: readonly number[];
  addsUp: boolean;
  x: number;
  width: number;
  toY: (amount: number) => number;
}) {
  const { series, amounts, addsUp, x, width, toY } = props;
  let below = 0;
  return series.map(({ name, colour }, index) => {
    const amount = amounts[index] ?? 0;
    const y = toY(below + amount);
    const height = toY(below) - y;
    if (addsUp) below += amount;
    return amount > 0 && <rect key={name} x={x} y={y} width={width} height={Math.max(height, 0.5)} fill={colour} />;
  });
}
