import type { Writable } from "node:stream";
import type { CliIo } from "./io.ts";

/** As a shell counts a program that SIGPIPE ended. */
const EXIT_BROKEN_PIPE = 128 + 13;

/** The surroundings of this process. It ends without a word when the program that reads its output has gone, as in `… | head -1`. */
export function createProcessIo(env: CliIo["env"]): CliIo {
  for (const stream of [process.stdout, process.stderr]) endOnBrokenPipe(stream);
  return {
    env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    cwd: process.cwd(),
    onInterrupt(act) {
      process.on("SIGINT", act);
      return () => void process.off("SIGINT", act);
    },
  };
}

function endOnBrokenPipe(stream: Writable): void {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(EXIT_BROKEN_PIPE);
  });
}
