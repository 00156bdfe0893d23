import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { findVersion } from "../../../src/version.ts";
import { type Published, publish, startService } from "../../service.ts";
import { fillDatabase } from "../filling.ts";
import type { Peer, ProgramName } from "../peer.ts";

const PROGRAMS = fileURLToPath(new URL("../programs", import.meta.url));
const INPUT = "value: { type: string, required: true }";

/** The service as `npm start` starts it, called by HTTPS with a key. `env` says what differs. */
export function treadlePeer(own: { name: string; isolation: string; env?: Readonly<Record<string, string>> }): Peer {
  const { name, isolation, env = {} } = own;
  // Of this run: a restart finds what was published.
  const published = new Map<ProgramName, Promise<Published>>();
  const publishProgram = async (dataDir: string, program: ProgramName): Promise<Published> =>
    publish(dataDir, INPUT, await readFile(join(PROGRAMS, program, "main.py"), "utf8"));
  return {
    name,
    isolation,
    version: findVersion(),
    record: "PostgreSQL and storage",
    engine: /^temporal/,
    async start({ dataDir, interpreter }) {
      const data = join(dataDir, "data");
      const settings = { TREADLE_PYTHON: interpreter, TREADLE_EXAMPLES: "none", ...env };
      const service = await startService({ dataDir: data, env: settings });
      let stages: Record<string, number[]> = {};
      const execute = async (workflow: Published, value: string) => {
        const { status, body, timing } = await service.call(workflow, { value });
        if (status !== 200) throw new Error(`${name} answered ${status}: ${JSON.stringify(body).slice(0, 300)}`);
        for (const [, stage = "", ms] of timing.matchAll(/(\w+);dur=([\d.]+)/g))
          (stages[stage] ??= []).push(Number(ms));
        (stages.program ??= []).push(Number(body.duration) * 1000);
        const { answer = "" } = body.outputs as Record<string, string>;
        return async (): Promise<string> => {
          const headers = { "x-api-key": workflow.apiKey };
          const file = await request(answer, { dispatcher: service.agent, headers });
          return file.body.text();
        };
      };
      return {
        pid: service.ready.pid,
        async call(program, value) {
          const workflow = published.get(program) ?? publishProgram(data, program);
          published.set(program, workflow);
          return execute(await workflow, value);
        },
        async publish(program) {
          const workflow = await publishProgram(data, program);
          return (value) => execute(workflow, value);
        },
        takeStages() {
          const taken = stages;
          stages = {};
          return taken;
        },
        filling: fillDatabase(data),
        stop: () => service.stop(),
      };
    },
  };
}

export const peer = treadlePeer({
  name: "Treadle",
  isolation: "namespaces, seccomp, cgroup, kernel user, disk; a fork of a warm interpreter",
});
