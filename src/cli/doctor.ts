import type { Command } from "commander";
import type { z } from "zod";
import type { UnrunnableCommits } from "../../domain/api/workflows.ts";
import { messageOf } from "../../domain/message-of.ts";
import type { Client } from "./client.ts";
import { type Act, addCommand, type Context } from "./command.ts";
import { createInterruption } from "./interruption.ts";
import type { Answer } from "./io.ts";
import { Refusal } from "./refusal.ts";
import { resolveDataDir } from "./service.ts";

/** One thing that was looked at. `message` says what was found and, when it is not good, what to do. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

/** How quick this machine is at one thing. `message` says it in words, and what to do when it is bad. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly message: string;
}

/** What `doctor` can find out of the machine that it runs on. */
export interface MachineParts {
  readonly checkMachine?: (dataDir: string) => Promise<readonly Check[]>;
  /** Takes half a minute, and throws when nothing can be measured. */
  readonly measureSpeed?: (dataDir: string, signal: AbortSignal) => Promise<readonly Figure[]>;
}

const NOT_MEASURED: Check = {
  name: "bench",
  ok: false,
  message:
    "Nothing was measured. Mend what is marked FAIL above, or start the service once: it installs what it lacks.",
};

/** `doctor`: what is installed, reachable, isolated. Refused (exit 1) when anything is not as it should be. */
export function addDoctorCommand(program: Command, act: Act, parts: MachineParts): void {
  addCommand(program, "doctor", "look at what is installed, reachable and isolated, and say what to do")
    .option("--bench", "measure for half a minute how quick this machine is, too, with a service of its own")
    .action(
      act<{ bench?: true }>(async (context, _args, { bench }) => {
        const dataDir = resolveDataDir(context.io, context.dataDir);
        const machine = (await parts.checkMachine?.(dataDir)) ?? [];
        const checks = [...machine, ...(await checkService(context))];
        if (bench !== true) return toDoctorAnswer(checks, undefined);
        // A service that can run no programs would never be ready.
        if (!machine.every(({ ok }) => ok)) return toDoctorAnswer([...checks, NOT_MEASURED], []);
        context.say("Measuring this machine with a service of its own. It takes half a minute.");
        const { figures, check } = await measure(context, dataDir, parts);
        return toDoctorAnswer([...checks, ...check], figures);
      }),
    );
}

async function measure(
  { io }: Context,
  dataDir: string,
  { measureSpeed }: MachineParts,
): Promise<{ figures: readonly Figure[]; check: readonly Check[] }> {
  const interruption = createInterruption(io);
  try {
    return { figures: (await measureSpeed?.(dataDir, interruption.signal)) ?? [], check: [] };
  } catch (error) {
    return { figures: [], check: [{ name: "bench", ok: false, message: messageOf(error) }] };
  } finally {
    interruption.end();
  }
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

function toDoctorAnswer(checks: readonly Check[], figures: readonly Figure[] | undefined): Answer {
  const good = checks.every((check) => check.ok);
  const toLine = (mark: string, { name, message }: Pick<Check, "name" | "message">): string =>
    `${mark}  ${name}${message === "" ? "" : `: ${message}`}`;
  const lines = [
    ...checks.map((check) => toLine(check.ok ? "ok  " : "FAIL", check)),
    ...(figures ?? []).map((figure) => toLine("    ", figure)),
  ];
  return { document: { ok: good, checks, ...(figures && { figures }) }, lines, good };
}
