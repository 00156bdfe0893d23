const COLOURS = ["#2563eb", "#d97706", "#059669", "#9ca3af"];
const [WIDTH, ROW, LEFT, RIGHT, TOP] = [760, 30, 190, 70, 62];
const STYLE = "font: 13px system-ui, sans-serif; fill: #374151";

/** A row of a bar chart: its parts lie one after the other. */
export interface Bar {
  readonly name: string;
  readonly parts: readonly number[];
}

/** Draws bars from the left, with the sum of each at its end; `labels` name the parts. */
export function drawBars(chart: { title: string; labels: readonly string[]; bars: readonly Bar[] }): string {
  const { title, labels, bars } = chart;
  const totals = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const scale = (WIDTH - LEFT - RIGHT) / Math.max(...totals, Number.MIN_VALUE);
  const rows = bars.map(({ name, parts }, row) => {
    const y = TOP + row * ROW;
    let x = LEFT;
    const drawn = parts.map((part, index) => {
      const box = `<rect x="${round(x)}" y="${y}" width="${round(part * scale)}" height="20" fill="${colour(index)}"/>`;
      x += part * scale;
      return box;
    });
    const total = write({ x: x + 6, y: y + 15, text: format(totals[row] ?? 0) });
    return `${write({ x: LEFT - 8, y: y + 15, text: name, anchor: "end" })}${drawn.join("")}${total}`;
  });
  const legend = labels.length > 1 ? drawLegend(labels) : "";
  return wrap(title, TOP + bars.length * ROW + 10, legend + rows.join("\n"));
}

/** A line of a chart: its points from left to right. */
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** Draws lines on an upright axis of powers of ten; `ticks` are the places on the level axis. */
export function drawLines(chart: { title: string; lines: readonly Line[]; ticks: readonly number[] }): string {
  const { title, lines, ticks } = chart;
  const height = 260;
  const values = lines.flatMap(({ points }) => points.map(([, y]) => Math.log10(y)));
  const [low, high] = [Math.floor(Math.min(...values)), Math.ceil(Math.max(...values))];
  const [first = 0, last = 1] = [ticks.at(0), ticks.at(-1)];
  const toX = (x: number): number => 60 + ((x - first) / (last - first)) * (WIDTH - LEFT - 90);
  const toY = (y: number): number => TOP + height - ((Math.log10(y) - low) / Math.max(1, high - low)) * height;
  const across = Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)).map(
    (value) =>
      `<line x1="60" x2="${WIDTH - LEFT - 30}" y1="${toY(value)}" y2="${toY(value)}" stroke="#e5e7eb"/>${write({ x: 52, y: toY(value) + 4, text: format(value), anchor: "end" })}`,
  );
  const below = ticks.map((tick) => write({ x: toX(tick), y: TOP + height + 22, text: `${tick} %`, anchor: "middle" }));
  const drawn = lines.map(({ name, points }, index) => {
    const path = points.map(([x, y]) => `${round(toX(x))},${round(toY(y))}`).join(" ");
    const stroke = `stroke="hsl(${index * 61} 65% 42%)"`;
    const y = TOP + 14 + index * 20;
    // A line of one point shows nothing.
    const dots = points
      .map(([x, y]) => `<circle cx="${round(toX(x))}" cy="${round(toY(y))}" r="3" ${stroke}/>`)
      .join("");
    const key = `<line x1="${WIDTH - LEFT}" x2="${WIDTH - LEFT + 16}" y1="${y - 4}" y2="${y - 4}" ${stroke} stroke-width="3"/>`;
    return `<polyline points="${path}" fill="none" ${stroke} stroke-width="2"/>${dots}${key}${write({ x: WIDTH - LEFT + 22, y, text: name })}`;
  });
  return wrap(title, TOP + height + 36, [...across, ...below, ...drawn].join("\n"));
}

function drawLegend(labels: readonly string[]): string {
  return labels
    .map((label, index) => {
      const x = LEFT + index * 120;
      return `<rect x="${x}" y="38" width="12" height="12" fill="${colour(index)}"/>${write({ x: x + 18, y: 49, text: label })}`;
    })
    .join("");
}

function wrap(title: string, height: number, content: string): string {
  const box = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  const paper = '<rect width="100%" height="100%" fill="#ffffff"/>';
  const heading = `<text x="16" y="24" style="${STYLE}; font-weight: 600">${escape(title)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img">\n${paper}${heading}\n${content}\n</svg>\n`;
}

function write({ x, y, text, anchor = "start" }: { x: number; y: number; text: string; anchor?: string }): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" style="${STYLE}">${escape(text)}</text>`;
}

function format(value: number): string {
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function colour(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "#000000";
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
