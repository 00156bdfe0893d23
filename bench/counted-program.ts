import { createServer } from "node:http";
import pg from "pg";
import { createLog } from "../src/log.ts";
import { installTemporalRuntime } from "../src/temporal/workers.ts";

/**
 * The service from its modules, which tells how many statements it has sent to PostgreSQL, and what the SDK of Temporal has
 * counted. Arguments: `whole`, the port that answers with the first, and the one for the second.
 */
const [statementsPort, temporalPort] = process.argv.slice(-2).map(Number);
let statements = 0;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  statements += 1;
  return Reflect.apply(query, this, given);
} as typeof query;
createServer((_, response) => void response.end(String(statements)))
  .listen(statementsPort, "127.0.0.1")
  .unref();
installTemporalRuntime(createLog({ level: "warn", terminal: false }), `127.0.0.1:${temporalPort}`);
await import("./engine-program.js");
