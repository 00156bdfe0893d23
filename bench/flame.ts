import { createHash } from "node:crypto";
import { request, WebSocket } from "undici";
import { withTimeout } from "../system/with-timeout.ts";
import { measureClosed } from "./peers/loads.ts";

const SAMPLE_US = 250;
const CALLERS = 8;
const WARM_SECONDS = 6;
/** A profile of some megabytes takes seconds on a busy machine. */
const ANSWER_MS = 60_000;
const [WIDTH, ROW, TOP] = [1600, 17, 34];
/** A box that is narrower, in pixels, is left out; one that is this wide has its name. */
const [DRAWN_PX, NAMED_PX, CHARACTER_PX] = [0.4, 36, 6.2];
const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A profile as V8 gives it (Chrome DevTools Protocol, `Profiler.Profile`); times in microseconds. */
interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** What a function took in all its calls from the same place; `file` without the part before the checkout. */
export interface Flame {
  readonly name: string;
  readonly file: string;
  /** Microseconds, those of what it called included. */
  total: number;
  /** Microseconds of its own. */
  own: number;
  readonly below: Map<string, Flame>;
}

/**
 * Keeps eight callers busy with `call` for `seconds` while the main thread of the process whose inspector listens at `port` is
 * sampled. Returns the profile as a tree, and how many calls were made.
 */
export async function recordFlames(
  { port, seconds, root }: { port: number; seconds: number; root: string },
  call: () => Promise<unknown>,
): Promise<{ flames: Flame; calls: number }> {
  const inspector = await openInspector(port);
  await keepBusy(WARM_SECONDS, call);
  await inspector.send("Profiler.enable");
  await inspector.send("Profiler.setSamplingInterval", { interval: SAMPLE_US });
  await inspector.send("Profiler.start");
  const calls = await keepBusy(seconds, call);
  const { profile } = (await inspector.send("Profiler.stop")) as { profile: Profile };
  inspector.close();
  return { flames: toFlames(profile, root), calls };
}

/** Returns how many calls were made. */
async function keepBusy(seconds: number, call: () => Promise<unknown>): Promise<number> {
  const { done, errors } = await measureClosed(() => call().then(() => async () => true), {
    callers: CALLERS,
    seconds,
  });
  if (errors.length > 0) throw new Error(`${errors.length} calls failed: ${errors[0]}`);
  return done.length;
}

async function openInspector(port: number) {
  const answer = await request(`http://127.0.0.1:${port}/json/list`);
  const [target] = (await answer.body.json()) as { webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl as string);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", reject, { once: true });
  });
  const waiting = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
    if (id !== undefined) waiting.get(id)?.(result);
  });
  let sent = 0;
  return {
    async send(method: string, params: object = {}): Promise<unknown> {
      const id = ++sent;
      const answered = new Promise((resolve) => waiting.set(id, resolve));
      socket.send(JSON.stringify({ id, method, params }));
      return withTimeout(answered, ANSWER_MS, () => Promise.reject(new Error(`${method} was not answered.`)));
    },
    close: () => socket.close(),
  };
}

function toFlames({ nodes, samples, timeDeltas }: Profile, root: string): Flame {
  const own = new Map<number, number>();
  for (const [at, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[at] ?? 0));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const all: Flame = { name: "all", file: "", total: 0, own: 0, below: new Map() };
  const add = (id: number, above: Flame): number => {
    const node = byId.get(id) as Profile["nodes"][number];
    const { functionName, url, lineNumber } = node.callFrame;
    const name = functionName || "(anonymous)";
    const file = url === "" ? "" : `${url.replace("file://", "").replace(root, "")}:${lineNumber + 1}`;
    const key = `${name} ${file}`;
    const flame = above.below.get(key) ?? { name, file, total: 0, own: 0, below: new Map() };
    above.below.set(key, flame);
    const self = own.get(id) ?? 0;
    const total = (node.children ?? []).reduce((sum, child) => sum + add(child, flame), self);
    flame.own += self;
    flame.total += total;
    return total;
  };
  for (const child of nodes[0]?.children ?? []) {
    // What the thread slept is no work.
    if (byId.get(child)?.callFrame.functionName !== "(idle)") all.total += add(child, all);
  }
  return all;
}

/** Returns what files took by themselves, by `toName`, the most first; microseconds. */
export function sumByFile(flames: Flame, toName: (flame: Flame) => string): [name: string, us: number][] {
  const sums = new Map<string, number>();
  const visit = (flame: Flame): void => {
    const name = toName(flame);
    sums.set(name, (sums.get(name) ?? 0) + flame.own);
    for (const each of flame.below.values()) visit(each);
  };
  visit(flames);
  return [...sums].sort(([, a], [, b]) => b - a);
}

/** Draws a tree from the top down as an SVG document: each box as wide as what it took, with its name and milliseconds a call as its title. */
export function drawFlames(flames: Flame, calls: number): string {
  const scale = WIDTH / flames.total;
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (flame: Flame, x: number, depth: number): void => {
    const width = flame.total * scale;
    if (width < DRAWN_PX) return;
    deepest = Math.max(deepest, depth);
    const y = TOP + depth * ROW;
    const title = `${flame.name} ${flame.file}: ${(flame.total / 1000 / calls).toFixed(3)} ms a call`;
    const hue = createHash("sha256").update(flame.file).digest().readUInt16BE() % 360;
    const label = flame.name.slice(0, Math.floor(width / CHARACTER_PX));
    const text = width < NAMED_PX ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escapeXml(label)}</text>`;
    const fill = flame.file === "" ? "#d1d5db" : `hsl(${hue} 60% 78%)`;
    boxes.push(
      `<g><title>${escapeXml(title)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${fill}"/>${text}</g>`,
    );
    let left = x;
    for (const each of [...flame.below.values()].sort((a, b) => b.total - a.total)) {
      draw(each, left, depth + 1);
      left += each.total * scale;
    }
  };
  draw(flames, 0, 0);
  const heading = `${(flames.total / 1000 / calls).toFixed(2)} ms of the main thread a call, ${calls} calls of ${CALLERS} callers`;
  const height = TOP + (deepest + 1) * ROW;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" style="font: 11px monospace"><text x="4" y="20">${heading}</text>\n${boxes.join("\n")}\n</svg>\n`;
}

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (found) => ESCAPES[found] ?? found);
}
