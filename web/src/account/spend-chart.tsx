import { useElementSize } from "@mantine/hooks";
import { toCreditText } from "../app/credits.tsx";
import { COLOURS, roundUp, type Series } from "./spend.ts";
import classes from "./spend-section.module.css";

const WIDTH_BEFORE = 720;
const HEIGHT = 220;
const LEFT = 56;
const BOTTOM = 20;
const TOP = 8;
const LINES = 4;
const LABEL_PX = 64;
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Bars, one a day, stacked by workflow. The numbers are in a table for those who cannot see them. */
export function SpendChart({ days, series }: { days: readonly string[]; series: readonly Series[] }) {
  const totals = days.map((_, at) => series.reduce((sum, { perDay }) => sum + (perDay[at] ?? 0), 0));
  const top = roundUp(Math.max(...totals));
  const { ref, width: seen } = useElementSize();
  const width = seen === 0 ? WIDTH_BEFORE : seen;
  const step = (width - LEFT) / days.length;
  const toY = (amount: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - amount / top);
  const labelEvery = Math.ceil(LABEL_PX / step);
  return (
    <div ref={ref}>
      <svg
        className={classes.chart}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        role="img"
        aria-label="Credits a day, by workflow"
      >
        {Array.from({ length: LINES + 1 }, (_, line) => (top / LINES) * line).map((amount) => (
          <g key={amount}>
            <line x1={LEFT} x2={width} y1={toY(amount)} y2={toY(amount)} className={classes.grid} />
            <text x={LEFT - 8} y={toY(amount) + 3.5} textAnchor="end" className={classes.label}>
              {toCreditText(amount)}
            </text>
          </g>
        ))}
        {days.map((date, at) => (
          <g key={date}>
            <title>{`${day.format(new Date(date))}: ${toCreditText(totals[at] ?? 0)} credits`}</title>
            <rect x={LEFT + step * at} y={TOP} width={step} height={HEIGHT - TOP - BOTTOM} className={classes.column} />
            <Bars at={at} series={series} x={LEFT + step * at + step * 0.14} width={step * 0.72} toY={toY} />
            {at % labelEvery === 0 && (
              <text {...placeLabel(LEFT + step * (at + 0.5), width)} y={HEIGHT - 4} className={classes.label}>
                {day.format(new Date(date))}
              </text>
            )}
          </g>
        ))}
      </svg>
      <table className={classes.unseen}>
        <caption>Credits a day</caption>
        <tbody>
          {days.map((date, at) => (
            <tr key={date}>
              <th scope="row">{date}</th>
              <td>{toCreditText(totals[at] ?? 0)}</td>
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
  at: number;
  series: readonly Series[];
  x: number;
  width: number;
  toY: (amount: number) => number;
}) {
  const { at, series, x, width, toY } = props;
  let below = 0;
  return series.map(({ name, perDay }, index) => {
    const amount = perDay[at] ?? 0;
    const y = toY(below + amount);
    const height = toY(below) - y;
    below += amount;
    return (
      amount > 0 && <rect key={name} x={x} y={y} width={width} height={Math.max(height, 0.5)} fill={COLOURS[index]} />
    );
  });
}
