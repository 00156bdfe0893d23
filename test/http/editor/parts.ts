import { fileURLToPath } from "node:url";
import type { Db } from "../../../db/connect.ts";
import type { ManifestBounds } from "../../../domain/manifest/bounds.ts";
import type { EditorParts } from "../../../src/http/editor-parts.ts";
import { createLog } from "../../../src/log.ts";
import { createDraftKeeper } from "../../../src/publish/keep-draft.ts";
import { createPreview } from "../../../src/publish/preview.ts";
import { createPublisher, type PublisherDeps } from "../../../src/publish/publish.ts";
import { createPythonWarnings } from "../../../src/publish/python-warnings.ts";
import { TEST_SECRET_BOX } from "../../support/builders.ts";
import { A_PYTHON, onlyInterpreter } from "../../support/python.ts";
import { someTicks } from "../../support/schedules.ts";
import { TEST_THREADS } from "../../support/threads.ts";

export const SILENT = createLog({ level: "silent", terminal: false });

/** Environments that exist at once: what they were asked for is in `built`. */
export function fakeEnvironments(): PublisherDeps["environments"] & {
  built: string[];
  readLog(key: string): Promise<string | undefined>;
} {
  const built: string[] = [];
  return {
    built,
    readLog: async (key) => (built.includes(key) ? `built ${key}` : undefined),
    lock: async (requirements) => {
      const text = requirements.list.map((one) => one.text).join("\n");
      return { ok: true, lock: `locked ${text}`, key: `key of ${text}` };
    },
    ensure: async (key) => void built.push(key),
    measure: async () => 0,
  };
}

/** What the editor's routes publish with: environments that exist at once, unless given. */
export function someEditorParts(
  db: Db,
  given: {
    readonly environments?: PublisherDeps["environments"];
    /** What building said, by the environment's key. */
    readonly logs?: Readonly<Record<string, string>>;
    readonly quickBuildMs?: number;
    readonly commitProblems?: EditorParts["commitProblems"];
    readonly bounds?: ManifestBounds;
  } = {},
): EditorParts {
  const { bounds } = given;
  const abilities = {
    interpreters: onlyInterpreter(A_PYTHON),
    networkAvailable: () => false,
    threads: TEST_THREADS,
    bounds: bounds && (() => bounds),
    findPythonWarnings: createPythonWarnings(TEST_THREADS),
  };
  const environments = given.environments ?? fakeEnvironments();
  const publishing = { db, secretBox: TEST_SECRET_BOX, environments, log: SILENT, ...abilities };
  return {
    publish: createPublisher(publishing),
    keepDraft: createDraftKeeper(publishing),
    preview: createPreview({ db, secretBox: TEST_SECRET_BOX, ...abilities }),
    abilities,
    readScript: async ({ name, text }) => ({ ok: true, files: [{ path: name, text }], notes: [] }),
    environments: { readLog: async (key) => given.logs?.[key] },
    ticks: someTicks(db),
    tickDays: 365,
    commitProblems: given.commitProblems,
    examplesDir: fileURLToPath(new URL("../../../examples", import.meta.url)),
    // Long enough for any machine: who tests a slow commit says so.
    quickBuildMs: given.quickBuildMs ?? 60_000,
  };
}
