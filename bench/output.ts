import { request } from "undici";
import { measureGrowth } from "./growth.ts";
import type { BenchService, Published } from "./service.ts";

/** Makes one file of so many MiB; small writes, as programs do. */
export const OUTPUT_PROGRAM = `def main(mebibytes):
    chunk = bytes(range(256)) * 4096
    with open("outputs/large.bin", "wb") as file:
        for _ in range(mebibytes):
            file.write(chunk)
`;

/**
 * Enough for an execution that goes on after a second: its workflow then takes over. The first one of a process to do so
 * brings 60 to 130 MiB along, however much it leaves.
 */
const LONG_MEBIBYTES = 1024;

/** One execution that leaves a large output, until it is kept; answers by how much the service's resident memory grew at most. */
export async function measureOutput(service: BenchService, workflow: Published, mebibytes: number) {
  await service.call(workflow, { mebibytes: LONG_MEBIBYTES });
  const { result, ...grown } = await measureGrowth(service.ready.pid, () => service.call(workflow, { mebibytes }));
  const address = (result.body.outputs as Record<string, string> | undefined)?.large ?? "";
  const head = await request(address, {
    method: "HEAD",
    dispatcher: service.agent,
    headers: { "x-api-key": workflow.apiKey },
  });
  return { mebibytes, status: result.status, kept: Number(head.headers["content-length"]) / 1024 ** 2, ...grown };
}
