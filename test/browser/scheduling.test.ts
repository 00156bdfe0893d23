import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { aWriter, openFile, waitForSuccess, waitUntilSaved, writeFirst } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

/** Of the program that is watched: long enough for a connection to be lost and found while it writes. */
const LINES = 40;
const PAGE_TICKS = 50;
/** Old ticks that are put into the record: more than a page of them. */
const OLD_TICKS = 120;

let editor: Editor;
let minutely: string;
let talking: string;

beforeAll(async () => {
  editor = await openEditor("scheduling");
  const schedule = '{ enabled: true, cron: "* * * * *", timezone: UTC } # every minute';
  const minutelyFiles = {
    "config.yaml": `name: Minutely\ntriggers:\n  schedule: ${schedule}\n`,
    "main.py": "def main():\n    return {'done': True}\n",
  };
  const talkingFiles = {
    "config.yaml": "name: Talking\ntriggers:\n  api: { enabled: true }\n",
    "main.py": `import time\n\ndef main():\n    for line in range(1, ${LINES + 1}):\n        print("said", line, flush=True)\n        time.sleep(0.25)\n`,
  };
  ({ workflowId: minutely } = await editor.publish(minutelyFiles));
  ({ workflowId: talking } = await editor.publish(talkingFiles));
}, 600_000);

afterAll(() => editor?.close());

/** Puts times at which the schedule was due long ago into the record, every hour, the last of them a day ago. */
async function addOldTicks(workflowId: string): Promise<void> {
  await editor.query(
    `insert into ticks (workflow_id, nominal_at, outcome, reason, source, decided_at)
     select $1, due, 'missed', 'old ' || n, 'repair', due
       from generate_series(1, $2) as n,
            lateral (select date_trunc('minute', now()) - interval '1 day' - make_interval(hours => n) as due) as d`,
    [workflowId, OLD_TICKS],
  );
}

/** Takes the network away from a page until `act` is done. */
async function withoutNetwork(page: Page, act: () => Promise<void>): Promise<void> {
  await page.context().setOffline(true);
  try {
    await page.getByRole("status", { name: "Connection" }).filter({ hasText: "The service does not answer" }).waitFor();
    await act();
  } finally {
    await page.context().setOffline(false);
  }
  await page.getByText("The service does not answer").waitFor({ state: "detached" });
}

test("what is written, while there is no network, is told not to be saved, and is saved when there is one again", async () => {
  const { page, workflowId, expectProblems, leave } = await aWriter(editor, "Written on a train");
  expectProblems(/ERR_INTERNET_DISCONNECTED/);
  await writeFirst(page, "# before\n");
  await waitUntilSaved(page);
  await withoutNetwork(page, async () => {
    await page.keyboard.insertText("# in the tunnel\n");
    await page.getByRole("alert").filter({ hasText: "config.yaml could not be saved" }).waitFor();
    expect(await findGrave(page)).toEqual([]);
    // A part of the editor that was not fetched yet comes when it can.
    await page.keyboard.press("Control+Shift+Enter");
    await page.keyboard.insertText("# deeper in\n");
  });
  await page.getByRole("dialog").getByText("# in the tunnel").waitFor();
  await page.keyboard.press("Escape");
  await waitUntilSaved(page);
  await page.getByRole("alert").first().waitFor({ state: "detached" });
  await openFile(page, workflowId, "config.yaml");
  const lines = await page.locator(".cm-line").allInnerTexts();
  expect(lines.slice(0, 3)).toEqual(["# before", "# in the tunnel", "# deeper in"]);
  await leave();
});

test("what goes on, while there is no network, is shown in full when there is one again", async () => {
  const { page, expectProblems, leave } = await editor.enter();
  expectProblems(/ERR_INTERNET_DISCONNECTED/);
  const list = await page.context().newPage();
  await list.goto("/");
  await list
    .getByRole("row", { name: /Talking/ })
    .getByText("Never")
    .waitFor();
  await page.goto(`/workflows/${talking}/run`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("said 2", { exact: true }).waitFor();
  await withoutNetwork(page, async () => {
    await page.getByText("Connecting again").waitFor();
  });
  await waitForSuccess(page);
  const log = page.getByRole("region", { name: "Log", exact: true });
  await log.getByText(`said ${LINES}`, { exact: true }).waitFor();
  await log.getByText(new RegExp(`^(${LINES}|${LINES + 1}|${LINES + 2}) lines$`)).waitFor();
  // The other page was away, too, and looks at nothing by itself.
  await list
    .getByRole("row", { name: /Talking/ })
    .getByText("Success", { exact: true })
    .waitFor();
  await leave();
});

test("a schedule, with more ticks than fit a page, shows the earlier ones when they are asked for", async () => {
  await addOldTicks(minutely);
  const { page, leave } = await editor.enter(`/workflows/${minutely}/schedule`);
  const history = page.getByRole("region", { name: "History" });
  const rows = history.locator("tbody tr");
  await rows.nth(PAGE_TICKS - 1).waitFor();
  expect(await rows.count()).toBe(PAGE_TICKS);
  await history.getByRole("button", { name: "Show earlier ones" }).click();
  await rows.nth(PAGE_TICKS).waitFor();
  await history.getByRole("button", { name: "Show earlier ones" }).click();
  await rows.getByText(`old ${OLD_TICKS}`, { exact: true }).waitFor();
  expect(await history.getByRole("button", { name: "Show earlier ones" }).count()).toBe(0);
  const reasons = await rows.getByText(/^old \d+/).allInnerTexts();
  expect(reasons).toEqual(Array.from({ length: OLD_TICKS }, (_, index) => `old ${index + 1}`));
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

test("a tick that was missed, run by its button, shows what will start and starts it once", async () => {
  const { page, expectProblems, leave } = await editor.enter(`/workflows/${minutely}/schedule`);
  // A period that ends before it begins, below.
  expectProblems(/400 .*\/backfills/);
  const missed = page.getByRole("region", { name: "History" }).locator("tbody tr", { hasText: /old 1\D/ });
  await missed.getByRole("button", { name: /^Run it now: due/ }).click();
  const dialog = page.getByRole("dialog", { name: "Run missed times" });
  await dialog.getByRole("button", { name: "Start 1 run" }).waitFor();
  expect(await dialog.getByRole("listitem").count()).toBe(1);
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Start 1 run" }).click();
  await page.getByText("1 run was started.").waitFor();
  await dialog.waitFor({ state: "detached" });
  await missed.waitFor({ state: "detached" });

  // A period in which everything ran has nothing to start.
  await page.getByRole("button", { name: "Run missed times" }).click();
  // By itself it begins no earlier than the schedule, which these tests have just made.
  const begins = new Date(await dialog.getByLabel("From").inputValue());
  expect(Date.now() - begins.getTime()).toBeLessThan(3_600_000);
  await dialog.getByLabel("From").fill("2026-01-01T00:00");
  await dialog.getByLabel("Until").fill("2026-01-01T00:00");
  await dialog.getByRole("alert").filter({ hasText: "is not before to" }).waitFor();
  expect(await dialog.getByRole("button", { name: "Start 0 runs" }).isDisabled()).toBe(true);
  await leave();
});

test("a schedule, watched, shows a tick when it comes, with the run it began, and pauses and resumes by a commit", async () => {
  const { page, leave } = await editor.enter(`/workflows/${minutely}/schedule`);
  await page.getByRole("heading", { name: "Every minute, UTC" }).waitFor();
  const history = page.getByRole("region", { name: "History" });
  const started = history.getByRole("row").filter({ has: page.getByRole("link", { name: "View run" }) });
  const before = await started.count();
  await started.nth(before).waitFor();
  await started.first().getByRole("link", { name: "View run" }).click();
  await waitForSuccess(page);
  await page.getByText("Schedule", { exact: true }).first().waitFor();

  await page.goto(`/workflows/${minutely}/schedule`);
  await started.filter({ hasText: "Success" }).first().waitFor();
  await history.getByText(/^Last 30 times: .*\d+ success.*\. Next: 10\.$/).waitFor();
  // A tick of the strip leads to its run; what is to come is there, too.
  expect(await history.locator('[title$=": to come"]').count()).toBe(10);
  const own = history.locator('a[data-tone="success"][title*=": Success, "]:not([title$="asked for afterwards"])');
  await own.first().waitFor();
  const dialog = page.getByRole("dialog");
  for (const [word, line] of [
    ["Pause", "enabled: false"],
    ["Resume", "enabled: true"],
  ] as const) {
    await page.getByRole("button", { name: word }).click();
    await dialog.locator(".cm-changedLine", { hasText: line }).waitFor();
    expect(await findGrave(page)).toEqual([]);
    await dialog.getByRole("button", { name: `Commit and ${word.toLowerCase()}` }).click();
    await dialog.waitFor({ state: "detached" });
  }
  await page.getByText("Active", { exact: true }).waitFor();
  await page.goto(`/workflows/${minutely}/commits`);
  await page.getByRole("link", { name: /pause/i }).click();
  const changed = page.getByRole("region", { name: "config.yaml, changed" });
  await changed.getByText("# every minute").first().waitFor();
  await leave();
});

const SIZED = `name: Sized # ours
inputs:
  size: { type: select, options: [small, full], label: Size }
  day: { type: date, required: false, label: Day }
`;

test("a schedule of a workflow that needs a file is not built: the dialog says so before anything is chosen", async () => {
  const config = "inputs:\n  orders: { type: file }\ntriggers:\n  api: { enabled: true }\n";
  const { workflowId } = await editor.publish({ "config.yaml": config, "main.py": "def main(orders):\n    pass\n" });
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/schedule`);
  await page.getByRole("button", { name: "New schedule" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("A schedule has no files to send, and every run needs orders.").waitFor();
  expect(await dialog.getByRole("button", { name: "Review the change" }).count()).toBe(0);
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

test("a schedule, built by fields for every weekday at 9 in a zone that was searched, is looked at and committed, and changed later", async () => {
  const program = "def main(size, day=None):\n    return {'size': size}\n";
  const { workflowId } = await editor.publish({ "config.yaml": SIZED, "main.py": program });
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/schedule`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New schedule" }).click();
  const zone = dialog.getByRole("combobox", { name: "Time zone" });
  await zone.fill("new york");
  await page.getByRole("option", { name: "America/New York" }).click();
  await dialog.getByText("It runs every weekday at 09:00, America/New_York.").waitFor();
  expect(await dialog.getByRole("row").count()).toBe(11);
  // What the program cannot do without is asked for here.
  await dialog.getByRole("button", { name: "Review the change" }).click();
  await dialog.getByRole("radio", { name: "full" }).check();
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Review the change" }).click();
  await dialog.locator(".cm-changedLine", { hasText: "payload: { size: full }" }).waitFor();
  expect(await dialog.getByRole("row").count()).toBe(11);
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Commit" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Every weekday at 09:00, America/New_York" }).waitFor();

  // The file names the tick: that stays, and what is chosen anew is all that changes.
  const { files } = await editor.ask<{ files: { path: string; text: string }[] }>(
    "GET",
    `/api/workflows/${workflowId}/draft`,
  );
  const config = files.find(({ path }) => path === "config.yaml")?.text ?? "";
  expect(config).toContain("name: Sized # ours");
  const named = config.replace("{ size: full }", '{ size: full, day: "${{ tick.date }}" } # daily');
  await editor.publish({ "config.yaml": named, "main.py": program }, workflowId);
  await page.reload();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await dialog.getByText("As in config.yaml: day =").waitFor();
  await dialog.getByRole("combobox", { name: "Repeat" }).click();
  await page.getByRole("option", { name: "By a cron expression" }).click();
  await dialog.getByRole("textbox", { name: "Cron expression" }).fill("0 9 30 2 *");
  await dialog.getByText(/30 February|never/).waitFor();
  expect(await dialog.getByRole("button", { name: "Review the change" }).isDisabled()).toBe(true);
  await dialog.getByRole("textbox", { name: "Cron expression" }).fill("15 6 * * *");
  await dialog.getByRole("button", { name: "Review the change" }).click();
  await dialog.locator(".cm-changedLine", { hasText: "15 6 * * *" }).waitFor();
  expect(await dialog.locator(".cm-changedLine").count()).toBe(1);
  await dialog.getByRole("button", { name: "Commit" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("heading", { name: "Every day at 06:15, America/New_York" }).waitFor();
  await leave();
});
