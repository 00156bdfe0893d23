import { setTimeout as sleep } from "node:timers/promises";
import { toTask } from "../../../system/threads/threads.ts";

export function addUp(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

export async function wait(ms: number): Promise<number> {
  await sleep(ms);
  return ms;
}

export function neverEnd(): void {
  for (;;);
}

export function hoard(): number {
  const kept: object[] = [];
  for (;;) kept.push(Array.from({ length: 1_000 }, () => ({ kept })));
}

export function fail(message: string): never {
  throw new RangeError(message);
}

export const ADD_UP = toTask(import.meta.url, addUp);
export const WAIT = toTask(import.meta.url, wait);
export const NEVER_END = toTask(import.meta.url, neverEnd);
export const HOARD = toTask(import.meta.url, hoard);
export const FAIL = toTask(import.meta.url, fail);
