import { setTimeout as sleep } from "node:timers/promises";
import { toFigure } from "../figures.ts";
import { expectAnswer } from "./answers.ts";
import { type Call, type Measured, measureClosed, measureInTurn, measureOpen } from "./loads.ts";
import type { Peer, ProgramName, ReadAnswer, RunningPeer } from "./peer.ts";
import { type ProcessorTime, type Reading, readUsage, toUsage, type UsageSource } from "./usage.ts";

/** Answers compared at a time, when the clock has stopped. */
const CHECKS = 8;
/** A peer that uses less than this share of a core, in windows of a second, has done what it was given. */
const QUIET_SHARE = 0.15;
const QUIET_WINDOW_MS = 1_000;
const QUIET_MAX_MS = 120_000;
const WARM_UP_SECONDS = 1;

/** What must not grow while a peer works. */
export interface Resources {
  /** Anonymous and shared memory of all its processes. */
  readonly memoryMebibytes: number;
  readonly descriptors: number;
  readonly diskMebibytes: number;
}

/** One load on one peer in one round. */
export interface Slice {
  readonly peer: string;
  readonly load: string;
  readonly round: number;
  readonly at: string;
  /** Milliseconds of each call; and of the bare starts in turn with them. */
  readonly calls: readonly number[];
  readonly bare: readonly number[];
  /** Calls a second; of arrivals at a constant rate, those that were due. */
  readonly perSecond: number;
  readonly wrong: number;
  readonly errors: readonly string[];
  /** Milliseconds of processor time a call, until the peer was quiet again. */
  readonly processorMs: ProcessorTime;
  /** Seconds after the last call until then. */
  readonly quietAfterSeconds: number;
  /** Cores that all else on the machine used. */
  readonly noiseCores: number;
  /** Medians of what the peer itself says of its calls, in milliseconds. */
  readonly stages?: Readonly<Record<string, number>>;
  /** What the peer held at the end, in a soak. */
  readonly resources?: Resources;
}

/** A peer under way, and the bare command beside it. */
export interface Stand {
  readonly peer: Peer;
  readonly running: RunningPeer;
  readonly bare: RunningPeer;
  readonly source: UsageSource;
  readonly round: number;
}

/** How a load is made. `share` is of the peer's own rate with eight callers. */
export type Load =
  | { readonly kind: "turn"; readonly program: ProgramName; readonly value?: string; readonly most: number }
  | { readonly kind: "closed"; readonly program: ProgramName; readonly callers: number; readonly seconds?: number }
  | { readonly kind: "open"; readonly program: ProgramName; readonly share: number }
  | { readonly kind: "first"; readonly program: ProgramName; readonly most: number };

export const CALLERS = 8;

/** All loads by name; `--loads` chooses. */
export const LOADS: Readonly<Record<string, Load>> = {
  hello: { kind: "turn", program: "hello", most: 1_000 },
  pandas: { kind: "turn", program: "pandas", most: 200 },
  fib10: { kind: "turn", program: "fib", value: "10", most: 40 },
  fib33: { kind: "turn", program: "fib", value: "33", most: 10 },
  hello8: { kind: "closed", program: "hello", callers: CALLERS },
  pandas8: { kind: "closed", program: "pandas", callers: CALLERS },
  open25: { kind: "open", program: "hello", share: 0.25 },
  open50: { kind: "open", program: "hello", share: 0.5 },
  open75: { kind: "open", program: "hello", share: 0.75 },
  open90: { kind: "open", program: "hello", share: 0.9 },
  sustained: { kind: "closed", program: "hello", callers: CALLERS, seconds: 120 },
  first: { kind: "first", program: "hello", most: 10 },
};

/** Makes one load, waits until the peer is quiet again, and compares every answer. Undefined where it has no such load. */
export async function measureSlice(
  stand: Stand,
  name: string,
  options: { readonly seconds: number; readonly capacity: number | undefined },
): Promise<Slice | undefined> {
  const load = LOADS[name];
  if (load === undefined) throw new Error(`There is no load ${name}. There are ${Object.keys(LOADS).join(", ")}.`);
  if (load.kind === "first" && stand.running.publish === undefined) return undefined;
  await warmUp(stand, load);
  stand.running.takeStages?.();
  const before = await readUsage(stand.source);
  const { peer, bare, perSecond } = await measureLoad(stand, load, options);
  const end = await readUsage(stand.source);
  const quiet = await waitUntilQuiet(stand.source, end);
  const usage = toUsage(before, quiet, stand.peer.engine);
  // Of the bare command both sides of the turn are bare starts.
  const beside = stand.source.pid === undefined ? bare.done.length : 0;
  const count = Math.max(1, peer.done.length + beside);
  const perCall = Object.fromEntries(Object.entries(usage.processorMs).map(([part, ms]) => [part, ms / count]));
  const stages = Object.entries(stand.running.takeStages?.() ?? {});
  const toMs = ({ done }: Measured): number[] => done.map(({ ms }) => Math.round(ms * 100) / 100);
  return {
    peer: stand.peer.name,
    load: name,
    round: stand.round,
    at: new Date().toISOString(),
    calls: toMs(peer),
    bare: toMs(bare),
    perSecond,
    wrong: (await countWrong(peer)) + (await countWrong(bare)),
    errors: [...peer.errors, ...bare.errors],
    processorMs: perCall as unknown as ProcessorTime,
    quietAfterSeconds: (quiet.at - end.at) / 1000,
    noiseCores: usage.noiseCores,
    ...(stages.length > 0 && { stages: Object.fromEntries(stages.map(([stage, ms]) => [stage, toFigure(ms).p50])) }),
  };
}

interface Outcome {
  readonly peer: Measured;
  readonly bare: Measured;
  readonly perSecond: number;
}

const NOTHING: Measured = { done: [], errors: [], seconds: 0 };

async function measureLoad(
  { running, bare }: Stand,
  load: Load,
  { seconds, capacity }: { seconds: number; capacity: number | undefined },
): Promise<Outcome> {
  const call = callOf(running, load);
  if (load.kind === "turn" || load.kind === "first") {
    const nextPeer = load.kind === "first" ? () => publishAnew(running, load) : async () => call;
    // Where a number of calls is the load, it is made whatever time it takes.
    const isCounted = load.kind === "first" || load.value !== undefined;
    const time = isCounted ? Number.POSITIVE_INFINITY : seconds;
    const turns = await measureInTurn({ bare: callOf(bare, load), nextPeer }, { most: load.most, seconds: time });
    return { peer: turns.peer, bare: turns.bare, perSecond: turns.peer.done.length / turns.peer.seconds };
  }
  if (load.kind === "closed") {
    const time = Math.max(seconds, load.seconds ?? 0);
    const peer = await measureClosed(call, { callers: load.callers, seconds: time });
    return { peer, bare: NOTHING, perSecond: peer.done.length / peer.seconds };
  }
  if (capacity === undefined) throw new Error("A share of a peer's own rate needs that rate: add the load hello8.");
  const perSecond = capacity * load.share;
  return { peer: await measureOpen(call, { perSecond, seconds }), bare: NOTHING, perSecond };
}

function callOf(running: RunningPeer, load: Load): Call {
  return toCall(load, (value) => running.call(load.program, value));
}

async function publishAnew(running: RunningPeer, load: Load): Promise<Call> {
  const call = await running.publish?.(load.program);
  if (call === undefined) throw new Error("It publishes nothing.");
  return toCall(load, call);
}

/** Numbers make values, so that no answer of `hello` is that of another call. */
function toCall(load: Load, call: (value: string) => Promise<ReadAnswer>): Call {
  const { program } = load;
  return async (number) => {
    const fixed = load.kind === "turn" ? load.value : undefined;
    const value = fixed ?? (program === "pandas" ? String(2 + (number % 97)) : `no-${number}`);
    const read = await call(value);
    return async () => (await read()).trim() === expectAnswer(program, value);
  };
}

/** Calls that do not count: what is made at the first of them is there, and as many interpreters wait as will be needed. */
async function warmUp(stand: Stand, load: Load): Promise<void> {
  const callers = load.kind === "turn" || load.kind === "first" ? 1 : CALLERS;
  // One first: it may publish.
  await (await callOf(stand.running, load)(0))();
  if (load.kind === "turn" && load.value === "33") return;
  for (const running of [stand.running, stand.bare]) {
    await measureClosed(callOf(running, load), { callers, seconds: WARM_UP_SECONDS });
  }
}

/** Waits until the peer has done what it was given, so that work put off is counted, and answers the last reading. */
async function waitUntilQuiet(source: UsageSource, since: Reading): Promise<Reading> {
  for (let before = since; ; ) {
    await sleep(QUIET_WINDOW_MS);
    const after = await readUsage(source);
    const used = after.peerMs - before.peerMs;
    if (used < QUIET_SHARE * (after.at - before.at) || after.at - since.at > QUIET_MAX_MS) return after;
    before = after;
  }
}

/** Returns how many answers are not what they must be. */
async function countWrong({ done }: Measured): Promise<number> {
  let [wrong, next] = [0, 0];
  const check = async (): Promise<void> => {
    for (let one = done[next++]; one !== undefined; one = done[next++]) if (!(await one.check())) wrong += 1;
  };
  await Promise.all(Array.from({ length: CHECKS }, check));
  return wrong;
}
