import type { ProgramName } from "./peer.ts";

/** What a value and the answer to it are, worked out without Python. Numbers are counted through, so that answers differ. */
const ANSWERS: Readonly<Record<ProgramName, (value: string) => string>> = {
  hello: (value) => `Hello, ${value}!`,
  fib: (value) => String(fib(Number(value))),
  pandas: (value) => String(sumOfMultiples(Number(value), 1000)),
};

/** Returns the text that a program must answer. */
export function expectAnswer(program: ProgramName, value: string): string {
  return ANSWERS[program](value);
}

function fib(n: number): number {
  let [here, next] = [0, 1];
  for (let step = 0; step < n; step++) [here, next] = [next, here + next];
  return here;
}

function sumOfMultiples(of: number, below: number): number {
  let total = 0;
  for (let multiple = 0; multiple < below; multiple += of) total += multiple;
  return total;
}
