import { isAbsolute } from "node:path";
import type { Settings } from "../config.ts";
import { listPrograms } from "./programs.ts";
import type { RunAs } from "./servers/child.ts";
import type { RunCommand } from "./servers/command.ts";
import { SYSTEM_PATH } from "./user.ts";

const VERSION_TIMEOUT_MS = 10_000;
const ADVICE =
  "`CGO_ENABLED=0 GOFLAGS=-mod=mod go install gvisor.dev/gvisor/runsc@latest` builds one; put it where everybody may start it, such as /usr/local/bin. Nothing is run without it.";

/** What `TREADLE_SANDBOX_RUNTIME` asks for: nothing beside bubblewrap, a `runsc` for gVisor, or one that cannot be had. */
export type FoundRuntime =
  | { readonly kind: "bubblewrap" }
  | { readonly kind: "gvisor"; readonly runscPath: string; readonly version: string }
  | { readonly kind: "missing"; readonly problem: string };

/** Finds the `runsc` that the settings ask for, by its path or on PATH, where `runAs` can start it. Whether it works here is the self-test's to say. */
export async function findRuntime(deps: {
  readonly settings: Pick<Settings, "TREADLE_SANDBOX_RUNTIME">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly runAs: RunAs | undefined;
  readonly run: RunCommand;
}): Promise<FoundRuntime> {
  const { settings, env, runAs, run } = deps;
  const { TREADLE_SANDBOX_RUNTIME: wanted } = settings;
  if (wanted === "bubblewrap") return { kind: "bubblewrap" };
  const candidates = isAbsolute(wanted) ? [wanted] : await listPrograms(wanted, `${env.PATH ?? ""}:${SYSTEM_PATH}`);
  for (const path of candidates) {
    const options = { env: { PATH: SYSTEM_PATH }, runAs, timeoutMs: VERSION_TIMEOUT_MS };
    const { code, stdout } = await run(path, ["--version"], options).catch(() => ({ code: 1, stdout: "" }));
    const version = /^runsc version (\S+)/.exec(stdout)?.[1];
    if (code === 0 && version !== undefined) return { kind: "gvisor", runscPath: path, version };
  }
  const who = runAs === undefined ? "this user" : `user ${runAs.uid}`;
  const where = isAbsolute(wanted)
    ? `it is no runsc that ${who} can start`
    : `there is no runsc on PATH that ${who} can start`;
  return { kind: "missing", problem: `TREADLE_SANDBOX_RUNTIME is ${wanted}, but ${where}. ${ADVICE}` };
}
