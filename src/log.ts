import pino from "pino";
import pretty from "pino-pretty";
import { showOn } from "../system/shown-text.ts";

export type Log = pino.Logger;

/** Where a process writes what it has to say. What is written to one of these comes out in the order in which it was written. */
export type Output = Pick<NodeJS.WritableStream, "write">;

/** Opens standard output. A slow reader does not hold up the process, unless it is a terminal. */
export function openOutput({ terminal }: { readonly terminal: boolean }): Output {
  return terminal ? process.stdout : pino.destination({ dest: 1, sync: false });
}

/**
 * JSON lines on `output`, or on stdout without one; readable lines on a terminal, one for each record. Keys, cookies and
 * authorisation never appear.
 */
export function createLog(options: { level: string; terminal: boolean; output?: Output }): Log {
  const settings: pino.LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: ['req.headers["x-api-key"]', "req.headers.authorization", "req.headers.cookie", "*.apiKey", "*.password"],
      censor: "[removed]",
    },
    serializers: { error: pino.stdSerializers.errWithCause },
  };
  if (!options.terminal) return options.output === undefined ? pino(settings) : pino(settings, options.output);
  // Errors quote what tenants have sent; a terminal must not obey it.
  const destination = showOn(process.stdout).stream;
  const look = { colorize: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss", sync: true };
  // One line for each record, errors included: what is above them is not to scroll away.
  const line = { singleLine: true, errorLikeObjectKeys: [] };
  return pino(settings, pretty({ ...look, ...line, destination }));
}
