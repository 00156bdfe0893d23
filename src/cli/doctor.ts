import type { Command } from "commander";
import type { z } from "zod";
import type { UnrunnableCommits } from "../../domain/api/workflows.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

/** One thing that was looked at. `message` says what was found and, when it is not good, what to do. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

/** `doctor`: what is installed, reachable, isolated. Refused (exit 1) when anything is not as it should be. */
export function addDoctorCommand(
  program: Command,
  act: Act,
  checkMachine?: (dataDir: string) => Promise<readonly Check[]>,
): void {
  addCommand(program, "doctor", "look at what is installed, reachable and isolated, and say what to do").action(
    act(async (context) => {
      const machine = (await checkMachine?.(resolveDataDir(context.io, context.dataDir))) ?? [];
      const checks = [...machine, ...(await checkService(context))];
      return toDoctorAnswer(checks);
    }),
  );
}

async function checkService(context: Context): Promise<Check[]> {
  try {
    const client = await context.client();
    const { status, body } = await client.call("GET", "/readyz");
    return [
      {
        name: "service",
        ok: status === 200,
        message: status === 200 ? `${client.url} is ready` : `${client.url} is not ready (${status})`,
      },
      ...(await nameCommits(client, readChecks(body))),
    ];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return [{ name: "service", ok: false, message: error.message }];
  }
}

type Unrunnable = z.infer<typeof UnrunnableCommits>["commits"][number];

/** `/readyz` tells strangers only how many commits cannot run; we may ask which. */
async function nameCommits(client: Client, checks: readonly Check[]): Promise<readonly Check[]> {
  if (checks.every(({ name, ok }) => name !== "commits" || ok)) return checks;
  const { commits } = await client.get<z.infer<typeof UnrunnableCommits>>("/api/unrunnable-commits");
  const toCheck = ({ workflowId, name, commitId, reason }: Unrunnable): Check => ({
    name: workflowId,
    ok: false,
    message: `${JSON.stringify(name)}, commit ${commitId}: ${reason}`,
  });
  return [...checks, ...commits.map(toCheck)];
}

/** `/readyz` has its checks by name; a proxy in front of the service may answer something else. */
function readChecks(body: unknown): Check[] {
  const { checks } = (typeof body === "object" && body !== null ? body : {}) as { checks?: unknown };
  if (typeof checks !== "object" || checks === null) return [];
  return Object.entries(checks as Record<string, { ok?: unknown; message?: unknown }>).map(([name, check]) => ({
    name,
    ok: check.ok === true,
    message: typeof check.message === "string" ? check.message : "",
  }));
}

function toDoctorAnswer(checks: readonly Check[]): Answer {
  const good = checks.every((check) => check.ok);
  const lines = checks.map(
    (check) => `${check.ok ? "ok  " : "FAIL"}  ${check.name}${check.message === "" ? "" : `: ${check.message}`}`,
  );
  return { document: { ok: good, checks }, lines, good };
}
