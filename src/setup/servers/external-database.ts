import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { messageOf } from "../../../domain/message-of.ts";

const PATIENCE_MS = 15_000;
const PAUSE_MS = 500;

/**
 * A server that is not ours: waited for as long as a container needs to start, otherwise left alone. Rejects when it
 * cannot be used. What it answers (a name for people), and what it rejects with, holds the host but no password.
 */
export async function checkExternalDatabase(
  connectionString: string,
  setting: "DATABASE_URL" | "DATABASE_POOLER_URL" = "DATABASE_URL",
): Promise<string> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const problem = await tryConnection(connectionString);
    if (problem === undefined) break;
    if (!problem.passing || Date.now() > deadline) {
      throw new Error(
        `Cannot use the database of ${setting} (${describeHost(connectionString)}): ${problem.message}. Correct ${setting}, or unset it to use ${setting === "DATABASE_URL" ? "the embedded PostgreSQL" : "DATABASE_URL alone"}.`,
      );
    }
    await sleep(PAUSE_MS);
  }
  return `${setting} (${describeHost(connectionString)})`;
}

async function tryConnection(connectionString: string): Promise<{ message: string; passing: boolean } | undefined> {
  try {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      await client.query("select 1");
      return undefined;
    } finally {
      await client.end().catch(() => {});
    }
  } catch (error) {
    const { code } = error as { code?: string };
    return {
      message: messageOf(error) || String(code),
      passing: ["ECONNREFUSED", "ENOENT", "EAI_AGAIN", "57P03"].includes(code ?? ""),
    };
  }
}

function describeHost(connectionString: string): string {
  try {
    return new URL(connectionString).host || "local socket";
  } catch {
    return "not a URL";
  }
}
