import pino from "pino";
import pretty from "pino-pretty";
import { showOn } from "../system/shown-text.ts";

export type Log = pino.Logger;

/** JSON lines on stdout; readable lines on a terminal, one for each record. Keys, cookies and authorisation never appear. */
export function createLog(options: { level: string; terminal: boolean }): Log {
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
  if (!options.terminal) return pino(settings);
  // Errors quote what tenants have sent; a terminal must not obey it.
  const destination = showOn(process.stdout).stream;
  const look = { colorize: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss", sync: true };
  // One line for each record, errors included: what is above them is not to scroll away.
  const line = { singleLine: true, errorLikeObjectKeys: [] };
  return pino(settings, pretty({ ...look, ...line, destination }));
}
