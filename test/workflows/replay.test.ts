import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "@jest/globals";
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from "@temporalio/worker";

// A replay that fails on purpose would be printed with its stack.
Runtime.install({
  logger: new DefaultLogger("ERROR", () => undefined),
  telemetryOptions: { logging: { filter: { core: "ERROR", other: "ERROR" } } },
  shutdownSignals: [],
});

const HISTORIES = fileURLToPath(new URL("../histories/", import.meta.url));
const WORKFLOWS = fileURLToPath(new URL("../../workflows/index.ts", import.meta.url));

interface RecordedHistory {
  readonly events: readonly {
    readonly eventType: string;
    readonly activityTaskScheduledEventAttributes?: { readonly activityType: { readonly name: string } };
    readonly workflowExecutionStartedEventAttributes?: { readonly workflowId: string };
  }[];
}

let code: string;
let histories: ReadonlyMap<string, RecordedHistory>;

beforeAll(async () => {
  ({ code } = await bundleWorkflowCode({ workflowsPath: WORKFLOWS, logger: new DefaultLogger("ERROR") }));
  histories = await readHistories();
});

/** By folder and name, such as `1/short-success`. */
async function readHistories(): Promise<Map<string, RecordedHistory>> {
  const found = new Map<string, RecordedHistory>();
  for (const version of (await readdir(HISTORIES)).sort()) {
    for (const file of (await readdir(join(HISTORIES, version))).sort()) {
      const text = await readFile(join(HISTORIES, version, file), "utf8");
      found.set(`${version}/${file.replace(/\.json$/, "")}`, JSON.parse(text) as RecordedHistory);
    }
  }
  return found;
}

/** Replays histories against a workflow bundle; answers the names of those it does not fit, with the reason. */
async function findMisfits(
  bundle: string,
  replayed: ReadonlyMap<string, RecordedHistory>,
): Promise<Map<string, string>> {
  const misfits = new Map<string, string>();
  // One at a time: results come in no particular order, and shapes of several versions share their Workflow Ids.
  for (const [name, history] of replayed) {
    const workflowId = history.events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? "";
    for await (const { error } of Worker.runReplayHistories({ workflowBundle: { code: bundle } }, [
      { workflowId, history },
    ])) {
      if (error) misfits.set(name, `${error.name}: ${error.message}`);
    }
  }
  return misfits;
}

/** What the server was asked for, in order: the regular activities. Local ones leave markers, and no name in plain text. */
function listScheduled({ events }: RecordedHistory): string[] {
  return events.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType.name ?? []);
}

test.each([
  ["1/short-success", [], "COMPLETED"],
  ["1/short-finished", [], "COMPLETED"],
  ["1/long-joined", ["executePython"], "COMPLETED"],
  ["1/refused-credits", [], "FAILED"],
  ["1/cancelled-before-it-ran", [], "COMPLETED"],
  ["1/cancelled-while-it-ran", ["executePython"], "COMPLETED"],
  ["1/uploaded-from-its-host", ["uploadOutputs"], "COMPLETED"],
  ["1/tick-brief", [], "COMPLETED"],
  ["1/tick-patient", ["recordTick"], "COMPLETED"],
  ["2/told-later", [], "COMPLETED"],
  ["3/tried-again", [], "COMPLETED"],
])("history %s, as recorded, is of the shape that its name says", (name, scheduled, end) => {
  const history = histories.get(name);
  expect(history && listScheduled(history)).toEqual(scheduled);
  expect(history?.events.at(-1)?.eventType).toBe(`EVENT_TYPE_WORKFLOW_EXECUTION_${end}`);
});

test("executeCommit and fireTick, replayed over every recorded history, decides as it did then", async () => {
  expect(await findMisfits(code, histories)).toEqual(new Map());
});

test.each([
  ["settles before the upload", /of (\S*LAST_STEPS)\)/, "of [...$1].reverse())", "1/short-success"],
  ["leaves the upload out", /of (\S*LAST_STEPS)\)/, "of $1.slice(1))", "1/short-success"],
  [
    "asks for the program before the credits",
    /await reserve\(holder\);/,
    "await runPython(executionId, input);$&",
    "1/refused-credits",
  ],
  ["never joins a program", /await joining\.executePython\(/, "await brief.executePython(", "1/long-joined"],
  ["does not release what was cancelled", /release\(holder, ending\)\)/, "undefined)", "1/cancelled-before-it-ran"],
  ["drives what has ended", /input\.story !== undefined/, "false", "2/told-later"],
  ["does not wait between attempts", /await Promise\.race\(\[\s+\(0,[^;]*;/, "", "3/tried-again"],
  ["is impatient with ticks", /await patient\.recordTick\(/, "await brief.recordTick(", "1/tick-patient"],
])(
  "a Workflow Definition, changed so that it %s, no longer fits its histories",
  async (_what, original, replacement, name) => {
    const changed = code.replace(original, replacement);
    // Compared here: an assertion would print a megabyte of bundle.
    expect(changed === code).toBe(false);
    const misfits = await findMisfits(changed, new Map([[name, histories.get(name) as RecordedHistory]]));
    expect(misfits.get(name)).toMatch(/^DeterminismViolationError: .*[Nn]ondeterminis/s);
  },
);
