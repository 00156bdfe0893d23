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
 * A service whose executions end a moment later, as a program does, with a log. One whose `who` is "fail" fails, and one with
 * "wait" waits until the test ends it. One with a `count` of 2 has two outputs, `greeting` and `facts`.
 */
export async function aRunningCliService(): Promise<RunningCliService> {
  const service = await aCliService({
    run: async (db, start) => {
      const [row] = await queryRows<{ inputs: { who?: string; count?: number } }>(
        db,
        "select inputs from executions where id = :id",
        { id: start.executionId },
      );
      const key = `executions/${start.executionId}/log.ndjson`;
      const lines = ["Hello", "2026-not a prefix"].map(
        (text, id) => `${JSON.stringify({ id, time: "2026-11-21T05:00:00.000Z", stream: "stdout", text })}\n`,
      );
      await service.storage.put(key, Readable.from(lines.map((line) => Buffer.from(line))));
      const { who, count } = row?.inputs ?? {};
      const files = count === 2 ? await storeOutputs(service.storage, start, { who, count }) : [];
      await insertOutputs(db, { executionId: start.executionId, files, logKey: key, logBytes: 1 });
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

function storeOutputs(
  storage: CliService["storage"],
  { executionId }: Started,
  facts: { readonly who: string | undefined; readonly count: number },
) {
  const texts = { "greeting.txt": `Hello ${facts.who}`, "facts.json": JSON.stringify(facts) };
  return Promise.all(
    Object.entries(texts).map(async ([fileName, text]) => {
      const storageKey = `executions/${executionId}/outputs/${fileName}`;
      await storage.put(storageKey, Readable.from([Buffer.from(text)]));
      const [name = ""] = fileName.split(".");
      const contentType = fileName.endsWith(".json") ? "application/json" : "text/plain";
      return { name, fileName, storageKey, bytes: text.length, sha256: "0".repeat(64), contentType };
    }),
  );
}
