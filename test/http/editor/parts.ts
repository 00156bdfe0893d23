import { fileURLToPath } from "node:url";
import type { Db } from "../../../db/connect.ts";
import type { EditorParts } from "../../../src/http/editor/parts.ts";
import { createDraftKeeper } from "../../../src/publish/keep-draft.ts";
import { createPreview } from "../../../src/publish/preview.ts";
import { createPublisher, type PublisherDeps } from "../../../src/publish/publish.ts";
import { TEST_SECRET_BOX } from "../../support/builders.ts";
import { A_PYTHON, onlyInterpreter } from "../../support/python.ts";
import { TEST_THREADS } from "../../support/threads.ts";
import { fakeEnvironments, SILENT } from "../operator/operator-service.ts";

/** What the editor's routes publish with: environments that exist at once, unless given. */
export function someEditorParts(
  db: Db,
  given: {
    readonly environments?: PublisherDeps["environments"];
    /** What building said, by the environment's key. */
    readonly logs?: Readonly<Record<string, string>>;
    readonly quickBuildMs?: number;
  } = {},
): EditorParts {
  const abilities = { interpreters: onlyInterpreter(A_PYTHON), networkAvailable: false, threads: TEST_THREADS };
  const environments = given.environments ?? fakeEnvironments();
  const publishing = { db, secretBox: TEST_SECRET_BOX, environments, log: SILENT, ...abilities };
  return {
    publish: createPublisher(publishing),
    keepDraft: createDraftKeeper(publishing),
    preview: createPreview({ db, ...abilities }),
    abilities,
    environments: { readLog: async (key) => given.logs?.[key] },
    examplesDir: fileURLToPath(new URL("../../../examples", import.meta.url)),
    // Long enough for any machine: who tests a slow commit says so.
    quickBuildMs: given.quickBuildMs ?? 60_000,
  };
}
