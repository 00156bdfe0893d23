import { withTimeout } from "../../system/with-timeout.ts";
import type { Talker } from "./commands.ts";
import { type MeterReading, parseMeter, toMeterQuestions, toMeterRemoval, toMeterRules } from "./meter-rules.ts";
import type { Router } from "./router.ts";
import { TABLE } from "./ruleset.ts";

/** Made at once, since a program that changes rules takes longer to start than to make all of these. */
const AHEAD = 16;
/** An answer takes less than a millisecond. */
const READ_TIMEOUT_MS = 2_000;
/** `nft` keeps every line that it reads. */
const READINGS_PER_TALKER = 1_000;

/** What the slots of one router send and receive, as the kernel counts it. */
export interface Meters {
  /** Resolves when the slots up to this number have meters. Numbers go up. Rejects where the rules cannot be made. */
  prepare(slot: number): Promise<void>;
  /** What this slot has sent and received by now. Undefined where it cannot be read. */
  read(slot: number): Promise<MeterReading | undefined>;
  /** Removes the meter of a slot, some time later. */
  forget(slot: number): void;
  close(): Promise<void>;
}

/** Meters of a router. Reading one starts no program: one `nft` answers all questions. */
export function createMeters(router: Pick<Router, "changeRules" | "talkToRules">): Meters {
  let made = 0;
  let making: Promise<void> = Promise.resolve();
  const over: number[] = [];
  let talker: Talker | undefined;
  let readings = 0;
  let isClosed = false;
  let reading: Promise<unknown> = Promise.resolve();

  async function ask(slot: number): Promise<MeterReading | undefined> {
    if (isClosed) return undefined;
    if (++readings % READINGS_PER_TALKER === 0) await hangUp();
    talker ??= router.talkToRules();
    const { ask } = talker;
    return withTimeout(
      Promise.all(toMeterQuestions(TABLE, slot).map(ask)).then(parseMeter),
      READ_TIMEOUT_MS,
      () => undefined,
    );
  }

  async function hangUp(): Promise<void> {
    const old = talker;
    talker = undefined;
    await old?.close();
  }

  return {
    prepare(slot) {
      if (slot < made) return making;
      const numbers = Array.from({ length: slot + AHEAD - made }, (_, index) => made + index);
      made += numbers.length;
      const text = [
        ...over.splice(0).map((gone) => toMeterRemoval(TABLE, gone)),
        ...numbers.map((number) => toMeterRules(TABLE, number)),
      ];
      making = making.then(() => router.changeRules(text.join("")));
      return making;
    },
    read(slot) {
      // One after the other, so that an answer that does not come holds up nobody's but its own.
      const answer = reading.then(() => ask(slot)).catch(() => undefined);
      reading = answer.then(async (found) => {
        if (found === undefined) await hangUp();
      });
      return answer;
    },
    forget: (slot) => void over.push(slot),
    close() {
      isClosed = true;
      return hangUp();
    },
  };
}
