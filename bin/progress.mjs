import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const REPORT_INTERVAL_MS = 10_000;
const TAIL_LINES_MAX = 200;

/** Does `work` and says what is being done, every ten seconds how long it has taken, and how long it usually takes. */
export async function withProgress({ report, what, usual }, work) {
  const startedAt = Date.now();
  const seconds = () => Math.round((Date.now() - startedAt) / 1000);
  report(`${what} (usually ${usual}) …`);
  const timer = setInterval(() => report(`${what}: ${seconds()} s so far, usually ${usual} …`), REPORT_INTERVAL_MS);
  try {
    const result = await work();
    report(`${what}: done in ${seconds()} s.`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

/** Runs a program to its end. A failure is a result: its exit code (127 when there is no such program) and its last lines. */
export function runToEnd(command, args, { cwd, env }) {
  return new Promise((resolve) => {
    const tail = [];
    const keep = (line) => {
      tail.push(line);
      if (tail.length > TAIL_LINES_MAX) tail.shift();
    };
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", keep);
    child.on("error", (error) => {
      keep(error.message);
      resolve({ code: 127, tail });
    });
    child.on("close", (code) => resolve({ code: code ?? 1, tail }));
  });
}
