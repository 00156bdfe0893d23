import { Readable } from "node:stream";
import { queryRows } from "../../db/connect.ts";
import { insertOutputs } from "../../db/executions/outputs.ts";
import { reserve, settle } from "../../db/ledger/credits.ts";
import { microCredits } from "../../domain/credits.ts";
import { succeed } from "../http/service.ts";
import { aCliService, type CliService } from "./cli-service.ts";

export const GREETER_CONFIG = `name: Greeter
inputs:
  who: { type: string, default: World }
  count: { type: integer, default: 1 }
  notes: { type: file_list, required: false }
triggers:
  api: { enabled: true }
`;
export const GREETER = { "config.yaml": GREETER_CONFIG, "main.py": "def main(who, count, notes):\n    return who\n" };

type Started = Parameters<typeof succeed>[1];

export interface RunningCliService extends CliService {
  /** Ends an execution that waits. */
  end(status: "success" | "failed" | "cancelled", start: Started): Promise<void>;
}

/**
 * A service whose executions end a moment later, as a program does, with a log and an output. One whose `who` is "fail" fails, and
 * one with "wait" waits until the test ends it.
 */
export async function aRunningCliService(): Promise<RunningCliService> {
  const service = await aCliService({
    run: async (db, start) => {
      const [row] = await queryRows<{ inputs: { who?: string } }>(db, "select inputs from executions where id = :id", {
        id: start.executionId,
      });
      const key = `executions/${start.executionId}/log.ndjson`;
      const lines = ["Hello", "2026-not a prefix"].map(
        (text, id) => `${JSON.stringify({ id, time: "2026-11-21T05:00:00.000Z", stream: "stdout", text })}\n`,
      );
      await service.storage.put(key, Readable.from(lines.map((line) => Buffer.from(line))));
      await insertOutputs(db, { executionId: start.executionId, files: [], logKey: key, logBytes: 1 });
      const { who } = row?.inputs ?? {};
      const status = who === "fail" ? "failed" : "success";
      if (who !== "wait") setTimeout(() => void end(status, start).catch(() => undefined), 200);
    },
  });

  const end: RunningCliService["end"] = async (status, start) => {
    if (status === "success") return succeed(service.db, start);
    await reserve(service.db, start.executionId);
    await settle(service.db, {
      executionId: start.executionId,
      status,
      secondsUsed: 1,
      compute: microCredits(1n),
      total: microCredits(1n),
    });
  };
  return { ...service, end };
}
