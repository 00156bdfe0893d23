import { serveJson } from "../http.ts";
import { type ProgramName, runProgram } from "../peer.ts";
import { servedPeer } from "../served.ts";

const VERSION = "5.3.0";

/** The part of `@dbos-inc/dbos-sdk` that is used here. */
interface Dbos {
  readonly DBOS: {
    setConfig(config: object): void;
    registerWorkflow<Run>(run: Run, options: { name: string }): Run;
    runStep<Result>(step: () => Promise<Result>, options: { name: string }): Promise<Result>;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
  };
}

/** A workflow of one step, called from a plain HTTP server in the same process, as DBOS's own examples do. */
export const peer = servedPeer({
  file: "dbos",
  name: "DBOS",
  version: VERSION,
  isolation: "none: a fresh process",
  record: "PostgreSQL",
  packages: [`@dbos-inc/dbos-sdk@${VERSION}`],
  database: true,
  async serve({ setting, load, database }) {
    const { DBOS } = load<Dbos>("@dbos-inc/dbos-sdk");
    // DBOS wants a host in the address; the socket's folder in the query is what `pg` connects to.
    const { host = "", user = "" } = database as { host?: string; user?: string };
    const systemDatabaseUrl = `postgresql://${user}@localhost/treadle?host=${encodeURIComponent(host)}`;
    DBOS.setConfig({ name: "bench", systemDatabaseUrl, logLevel: "error" });
    const run = DBOS.registerWorkflow(
      (program: ProgramName, value: string) =>
        DBOS.runStep(() => runProgram(setting, program, value), { name: "program" }),
      { name: "run" },
    );
    await DBOS.launch();
    const server = await serveJson(run);
    return { url: server.url, stop: () => server.stop().then(() => DBOS.shutdown()) };
  },
});
