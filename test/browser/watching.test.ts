import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { readProperty, readStyle, waitUntil } from "../support/browser.ts";
import { runForm, waitForSuccess } from "../support/desk.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";
import { KNOCK, LINES, PULSE } from "../support/programs.ts";
import { LOOKS, lookAtRun } from "../support/run-looks.ts";

const LINES_MANY = 100_000;

let editor: Editor;
let lines: Published;
let pulse: Published;
/** What the tests before have run, to be looked at once more in every look. */
const seen: Record<string, string> = {};

beforeAll(async () => {
  editor = await openEditor("watching");
  lines = await editor.publish(LINES);
  pulse = await editor.publish(PULSE);
}, 600_000);

afterAll(() => editor?.close());

/** The log on a page: its rows that are drawn, how many lines it says there are, and where it is scrolled to. */
function aLog(page: Page) {
  const place = page.getByRole("region", { name: "Lines of the log" });
  const note = page.getByText(/^[\d,]+ lines?$/);
  return {
    place,
    rows: place.locator("[data-index]"),
    line: (text: string): Locator => place.locator("[data-index]").filter({ hasText: new RegExp(`^\\d+${text}$`) }),
    ticks: place.locator("[data-index]").filter({ hasText: /tick \d+$/ }),
    countLines: async () => Number((await note.innerText()).replaceAll(/\D/g, "")),
    follow: page.getByRole("button", { name: "Follow the end" }),
    latest: page.getByRole("button", { name: "Latest" }),
    search: page.getByRole("searchbox", { name: "Search the log" }),
  };
}

/** From now on, keeps what a screen reader would say by itself: what comes into a place that it listens to. */
const HEAR = `
  globalThis.heard = [];
  new MutationObserver((changes) => {
    const places = new Set(changes.map(({ target }) => (target.nodeType === 3 ? target.parentElement : target)?.closest("[role=status], [role=alert], [aria-live]")));
    for (const place of places) if (place && place.textContent.trim() !== "") heard.push(place.textContent.trim());
  }).observe(document.body, { childList: true, characterData: true, subtree: true });`;

test("the log, while its program runs, shows lines as they come, in their colours, also after a refresh, and follows or stays; cancelled, it ends", async () => {
  const { page, leave } = await editor.enter(`/workflows/${pulse.workflowId}/run`);
  const executionId = await runForm(page);
  const log = aLog(page);
  await log.ticks.first().waitFor();
  await page.getByText("Running", { exact: true }).first().waitFor();
  await page.getByText("Counting · 25 %").waitFor();
  await log.follow.click();
  await log.place.press("Home");
  await log.line("100% of the bar").waitFor();
  const green = log.place.getByText("green", { exact: true });
  expect(Number(await readStyle(green, "font-weight"))).toBeGreaterThan(500);
  expect(await readStyle(green, "color")).not.toBe(await readStyle(log.line("green and plain"), "color"));

  await page.reload();
  await log.ticks.first().waitFor();
  await page.evaluate(HEAR);
  const scroll = async () => Number(await readProperty(log.place, "scrollTop"));
  await waitUntil("there are more lines than fit", async () => (await scroll()) > 200);
  // Its newest line is within the window, so that one sees it move.
  const bottom =
    "document.querySelector('[aria-label=\"Lines of the log\"]').getBoundingClientRect().bottom - innerHeight";
  expect(await page.evaluate<number>(bottom)).toBeLessThanOrEqual(0);
  await log.follow.click();
  expect(await log.follow.getAttribute("aria-pressed")).toBe("false");
  const [stopped, before] = [await scroll(), await log.countLines()];
  await waitUntil("lines came meanwhile", async () => (await log.countLines()) > before + 10);
  expect(await scroll()).toBe(stopped);
  await log.latest.click();
  await waitUntil("it goes on with the end", async () => (await scroll()) > stopped);
  await log.latest.waitFor({ state: "detached" });
  expect(await log.follow.getAttribute("aria-pressed")).toBe("true");
  // Another line in the address of the page that is open, and the log is there and stays.
  await page.evaluate('location.hash = "L2"');
  await waitUntil("it is at that line", async () => (await scroll()) === 0);
  await log.place.locator("[data-current]").waitFor();
  const during = await log.countLines();
  await waitUntil("lines came meanwhile", async () => (await log.countLines()) > during + 10);
  expect(await scroll()).toBe(0);
  await log.latest.click();

  await log.search.fill("careful");
  await page.getByText(/^1 of 1$/).waitFor();
  await log.place.locator("[data-current] mark").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByText("Cancelled", { exact: true }).first().waitFor();
  await page.getByRole("note").filter({ hasText: "The run was cancelled before it ended." }).waitFor();
  await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });
  const record = await page.request.get(`/api/executions/${executionId}`);
  expect(await record.json()).toMatchObject({ status: "cancelled", draft: false });
  // Of all that changed meanwhile, lines and steps among it, these two were said, and once.
  const heard = await page.evaluate<string[]>("heard");
  expect(heard.filter((words) => !/^(None|\d+ of \d+)$/.test(words)).toSorted()).toEqual([
    "Cancelled · Pulse",
    "The run is being cancelled",
  ]);
  seen["a log in colours, cancelled"] = executionId;
  await leave();
});

test("a log of 100,000 lines is drawn a window at a time, from the first line to the last, and searched as a whole", async () => {
  const { page, leave } = await editor.enter(`/workflows/${lines.workflowId}/run`);
  await page.getByRole("textbox", { name: "Lines" }).fill(String(LINES_MANY));
  const executionId = await runForm(page);
  const log = aLog(page);
  await page.getByText("100,000 lines", { exact: true }).waitFor();
  await log.line("line 99999").waitFor();
  // Six digits are in one line.
  const numbers = await log.rows.last().locator("a").first().boundingBox();
  expect(numbers?.height).toBeLessThan(25);
  expect(await log.rows.count()).toBeLessThan(150);
  await log.place.press("Home");
  await log.line("line 0").waitFor();
  expect(await log.line("line 99999").count()).toBe(0);
  await log.place.press("End");
  await log.line("line 99999").waitFor();

  await log.search.fill("NEEDLE");
  await page.getByText("1 of 1", { exact: true }).waitFor();
  await log.line("line 50000 needle").locator("mark").waitFor();
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  await log.search.fill("line 777");
  await page.getByText("1 of 111", { exact: true }).waitFor();
  await log.line("line 777").locator("mark").waitFor();
  await log.search.press("Shift+Enter");
  await page.getByText("111 of 111", { exact: true }).waitFor();
  await log.line("line 77799").locator("mark").waitFor();
  expect(await log.rows.count()).toBeLessThan(150);
  await log.search.fill("");
  for (const number of [50_001, 3, 99_000]) {
    await page.evaluate(`location.hash = "L${number}"`);
    await log.place.locator("[data-current]", { hasText: `line ${number - 1}` }).waitFor();
  }
  seen["a long log"] = executionId;
  await leave();
});

/** Of a run that has written "begun" and then a traceback: each stream by itself, with the numbers of all lines; and the full screen. */
async function checkStreams(page: Page): Promise<void> {
  const log = aLog(page);
  const streams = page.getByRole("radiogroup", { name: "Stream" });
  await streams.getByText("stdout", { exact: true }).click();
  await page.getByText("1 line", { exact: true }).waitFor();
  await log.line("begun").waitFor();
  await streams.getByText("stderr", { exact: true }).click();
  await log.line("begun").waitFor({ state: "detached" });
  expect(await log.rows.first().innerText()).toMatch(/^2\s*Traceback/);
  await log.search.fill("IndexError");
  await page.getByText("1 of 1", { exact: true }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await streams.getByText("All", { exact: true }).click();
  await log.line("begun").waitFor();

  const full = page.getByRole("button", { name: "Full screen" });
  await full.click();
  await page.locator('[aria-label="Full screen"][aria-pressed="true"]').waitFor();
  const [width, height] = await page.evaluate<number[]>("[innerWidth, innerHeight]");
  const box = await page.getByRole("region", { name: "Log", exact: true }).boundingBox();
  expect([box?.width, box?.height]).toEqual([width, height]);
  expect(await findGrave(page)).toEqual([]);
  await full.click();
  await page.locator('[aria-label="Full screen"][aria-pressed="false"]').waitFor();
}

test("a run that failed after many lines, opened, has its last error in the window", async () => {
  const program = 'def main(lines):\n    for n in range(300):\n        print("line", n)\n    return [][lines]\n';
  const { workflowId } = await editor.publish({ ...LINES, "main.py": program });
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/run`);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("textbox", { name: "Lines" }).fill("7");
  await page.goto(`/executions/${await runForm(page)}`);
  const error = aLog(page).line("IndexError: list index out of range");
  await error.waitFor();
  const box = await error.boundingBox();
  expect([box !== null && box.y > 0, box !== null && box.y + box.height <= 900]).toEqual([true, true]);
  // That is its end: no button leads there.
  expect(await aLog(page).latest.count()).toBe(0);
  expect(await page.getByRole("heading", { name: "Outputs" }).count()).toBe(0);
  await leave();
});

test("an execution that failed says why where one looks first, and how in its log", async () => {
  const broken = { ...LINES, "main.py": 'def main(lines):\n    print("begun")\n    return [][lines]\n' };
  const { workflowId } = await editor.publish(broken);
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/run`);
  await page.getByRole("textbox", { name: "Lines" }).fill("7");
  const executionId = await runForm(page);
  await page.getByRole("alert").filter({ hasText: "IndexError: list index out of range" }).waitFor();
  await aLog(page).place.getByText("Traceback").waitFor();
  const timeline = page.getByRole("region", { name: "Timeline" });
  await timeline
    .getByRole("listitem")
    .filter({ hasText: /^Program/ })
    .waitFor();
  expect(await timeline.getByText(/ms|s$/).count()).toBeGreaterThan(1);
  await page.getByText(/^[\d.]+ MB of 512 MB$/).waitFor();
  await page.getByText(/^[\d.]+ m?s on 1 processor$/).waitFor();
  // From the frame to its line, in the files that have run.
  await aLog(page).place.getByRole("link", { name: 'File "/app/main.py", line 3' }).click();
  await page.waitForURL(/\/code\?commit=[0-9a-f]{40}&file=main\.py&line=3$/);
  await page.locator(".cm-activeLine", { hasText: "return [][lines]" }).waitFor();
  await page.getByRole("link", { name: "Edit in draft" }).click();
  await page.waitForURL(/\/code\?file=main\.py&line=3$/);
  await page.locator(".cm-activeLine", { hasText: "return [][lines]" }).waitFor();
  // A line has an address.
  await page.goto(`/executions/${executionId}#L1`);
  await aLog(page).place.locator("[data-current]", { hasText: "begun" }).waitFor();
  await checkStreams(page);
  await page.goto(`/workflows/${workflowId}/settings`);
  await page.getByText(/^512 MB, used at most [\d.]+ MB$/).waitFor();
  await page.goto(`/workflows/${workflowId}/overview`);
  await page.getByRole("region", { name: "Last failure" }).getByText("IndexError: list index out of range").waitFor();
  await page.getByText("Last 30 runs: 1 failed").waitFor();
  const ends = page.getByRole("table", { name: "Runs a day, by their end" }).getByRole("row");
  expect((await ends.last().innerText()).split(/\s+/).slice(1)).toEqual(["0", "1"]);
  expect(await findGrave(page)).toEqual([]);
  await page.goto("/");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href*="${workflowId}"]`) });
  await row.getByText("Last 20 runs: 1 failed").waitFor();
  seen["a failure"] = executionId;
  await leave();
});

test.each(LOOKS)("what executions have left behind, in $name, keeps nobody out and fits its window", async (look) => {
  const { page, leave } = await editor.enter(undefined, look);
  const found: Record<string, unknown> = {};
  expect(Object.keys(seen)).toHaveLength(3);
  for (const [name, executionId] of Object.entries(seen)) {
    await page.goto(`/executions/${executionId}`);
    found[name] = await lookAtRun(page);
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(seen).map((name) => [name, []])));
  await leave();
});

test("a run with a network lists what it connected to: what was refused, what is new, and how much is not listed", async () => {
  const knock = await editor.publish(KNOCK);
  const { page, leave } = await editor.enter(`/workflows/${knock.workflowId}/run`);
  const executionId = await runForm(page);
  await waitForSuccess(page);
  const section = page.getByRole("region", { name: "Connections" });
  await section.getByText("10.255.255.254:5432").waitFor();
  expect(await section.innerText()).toContain("refused, 1 ×");
  expect(await section.innerText()).not.toContain("Attempt");

  // As it is where there is an internet to connect to.
  const traffic = { sentBytes: 1_500, receivedBytes: 2_000_000, refused: 0 };
  const reached = (last: number) => ({
    name: null,
    address: `198.51.100.${last}`,
    port: 443,
    protocol: "tcp",
    isNew: false,
    ...traffic,
  });
  const warehouse = { ...reached(99), name: "warehouse", address: "10.20.0.5", port: 5432, isNew: true };
  await page.route(`**/api/executions/${executionId}`, async (route) => {
    const response = await route.fetch();
    const record = (await response.json()) as { attempts: object[] };
    const connections = {
      destinations: [...Array.from({ length: 20 }, (_, n) => reached(n)), warehouse],
      more: { connections: 7, ...traffic },
    };
    const attempts = [
      { ...record.attempts[0], connections },
      { ...record.attempts[0], attempt: 2, connections: { destinations: [], more: null } },
    ];
    await route.fulfill({ response, json: { ...record, attempts } });
  });
  await page.reload();
  await section.getByText("warehouse:5432").waitFor();
  const lines = section.getByRole("listitem");
  expect(await lines.first().innerText()).toMatch(/^warehouse:5432\s+New\s+1.5 kB sent, 2 MB received$/i);
  expect(await lines.count()).toBe(9);
  await section.getByText("and 7 more connections").waitFor();
  expect(await section.innerText()).toMatch(/^Connections\s+Attempt 1\s[^]+\sAttempt 2\s+It connected to nothing\.$/);
  await section.getByRole("button", { name: "Show all 21" }).click();
  expect(await lines.count()).toBe(22);
  expect(await findGrave(page)).toEqual([]);
  await leave();
});
