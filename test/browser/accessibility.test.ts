import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findCut, findGrave, findOverflow, findSmallTargets } from "../support/accessibility.ts";
import { fillSignIn, ownerOf } from "../support/browser.ts";
import { treadle } from "../support/command-line.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";

const LOOKS = [
  { name: "light", dark: false, width: 1280, purposes: true, between: [780, 820, 1_000] },
  { name: "dark", dark: true, width: 1280 },
  { name: "light on a phone", dark: false, width: 390, touch: true, tabs: true },
];

/** As long as each may be, without a place to break. */
const long = (length: number): string => "LongName".repeat(25).slice(0, length);
const LONGEST_NAME = long(200);

let editor: Editor;
let executionId: string;
let longest: Published;
let longestId: string;

beforeAll(async () => {
  editor = await openEditor("accessibility", { examples: ["hello", "merge-files", "nightly"] });
  const path = `/api/workflows/${editor.examples["hello"]?.workflowId}/execute`;
  const alone = `?workflow=${editor.examples["nightly"]?.workflowId}`;
  await editor.ask("PUT", "/api/secrets/WAREHOUSE_PASSWORD", { value: "a long enough value" });
  await editor.ask("PUT", `/api/variables/LEVEL${alone}`, { value: "a long text without an end ".repeat(40) });
  await editor.ask("PUT", `/api/variables/NAME_OF_THE_REPORTS_FOLDER_OF_ALL_REGIONS${alone}`, {
    value: "x".repeat(99),
  });
  await editor.ask("POST", "/api/places", { name: "ops", kind: "slack", target: "https://localhost/hook" });
  await editor.ask("POST", "/api/places/ops/test");
  await editor.ask("POST", "/api/places", { name: long(40), kind: "slack", target: "https://localhost/hook" });
  const granted = await treadle(editor.dataDir, ["destinations", "add", long(40), "10.200.100.128/28:10000-20000"]);
  if (granted.code !== 0) throw new Error(granted.stderr);
  await editor.ask("POST", "/api/invitations", { email: `${long(64)}@example.com`, role: "viewer" });
  await editor.ask("POST", "/api/tokens", { name: long(100), days: 30 });
  await editor.ask("PUT", `/api/secrets/${long(100).toUpperCase()}`, { value: "a long enough value" });
  longest = await editor.publish({
    "config.yaml": `name: ${LONGEST_NAME}\ninputs:\n  ${long(60)}: { type: string, default: ${long(160)} }\ntriggers:\n  api: { enabled: true }\n  schedules:\n    ${long(40).toLowerCase()}: { enabled: false, cron: "0 3 * * 1", payload: { ${long(60)}: ${long(160)} } }\n`,
    [`${long(60)}/${long(120)}.txt`]: long(160),
    "main.py": `def main(${long(60)}):\n    print("${long(160)}" * 3)\n    return {"${long(60)}": "${long(160)}"}\n`,
  });
  const run = (workflowId: string, inputs: object) =>
    editor.ask<{ executionId: string }>("POST", `/api/workflows/${workflowId}/execute`, inputs);
  longestId = (await run(longest.workflowId, {})).executionId;
  executionId = (await editor.ask<{ executionId: string }>("POST", path, { name: "Ada" })).executionId;
}, 600_000);

afterAll(() => editor?.close());

function listPages(): Record<string, { path: string; sign: string }> {
  const workflow = (example: string): string => `/workflows/${editor.examples[example]?.workflowId}`;
  return {
    workflows: { path: "/", sign: "Workflows" },
    "the form of hello": { path: `${workflow("hello")}/run`, sign: "What runs" },
    "the form of merge-files": { path: `${workflow("merge-files")}/run`, sign: "What runs" },
    "the form of nightly": { path: `${workflow("nightly")}/run`, sign: "What runs" },
    "the code of nightly": { path: `${workflow("nightly")}/code?file=config.yaml`, sign: "config.yaml" },
    "the API of nightly": { path: `${workflow("nightly")}/api`, sign: "Call it" },
    "the schedule of nightly": { path: `${workflow("nightly")}/schedule`, sign: "Next runs" },
    "the commits of nightly": { path: `${workflow("nightly")}/commits`, sign: "History" },
    "the overview of hello": { path: `${workflow("hello")}/overview`, sign: "Last 30 runs" },
    "the settings of nightly": { path: `${workflow("nightly")}/settings`, sign: "Limits of a run" },
    "a commit of hello": {
      path: `${workflow("hello")}/code?commit=${editor.examples["hello"]?.commitId}`,
      sign: "main.py",
    },
    "the runs of hello": { path: `${workflow("hello")}/runs`, sign: "Hello" },
    runs: { path: "/executions", sign: "Runs" },
    ...listLongest(),
    "a run": { path: `/executions/${executionId}`, sign: "Outputs" },
    credits: { path: "/account", sign: "Ledger" },
    members: { path: "/account/members", sign: "Members" },
    "secrets and variables": { path: "/account/secrets", sign: "Secrets" },
    notices: { path: "/account/notices", sign: "Sent" },
    tokens: { path: "/account/tokens", sign: "Access tokens" },
    "a command line's sign-in": { path: "/device", sign: "Sign in the command line" },
    security: { path: "/account/security", sign: "Sessions" },
    "the documents": { path: "/docs/", sign: "Documentation" },
    "a document": { path: "/docs/operating", sign: "Operating Treadle" },
  };
}

/** Those of a workflow whose names and values have no place to break. */
function listLongest(): ReturnType<typeof listPages> {
  const place = `/workflows/${longest.workflowId}`;
  return {
    "the form of the longest": { path: `${place}/run`, sign: "What runs" },
    "the code of the longest": { path: `${place}/code?file=main.py`, sign: "main.py" },
    "the API of the longest": { path: `${place}/api`, sign: "Call it" },
    "the schedules of the longest": { path: `${place}/schedule`, sign: "Next runs" },
    "the commits of the longest": { path: `${place}/commits`, sign: "History" },
    "the overview of the longest": { path: `${place}/overview`, sign: "Last 30 runs" },
    "the settings of the longest": { path: `${place}/settings`, sign: "Limits of a run" },
    "the runs of the longest": { path: `${place}/runs`, sign: LONGEST_NAME },
    "a run of the longest": { path: `/executions/${longestId}`, sign: "Outputs" },
  };
}

/** Shows a page, once all of it is there. */
async function show(page: Page, { path, sign }: { path: string; sign: string }): Promise<void> {
  await page.goto(path);
  await page.getByRole("heading", { name: sign, exact: true }).first().waitFor();
  await page.locator('[aria-label$=" loading"]').first().waitFor({ state: "detached" });
}

test.each(LOOKS)("the sign-in, in $name, keeps nobody out", async (look) => {
  const { page, leave } = await editor.visit(look);
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect([...(await findGrave(page)), ...(await findForFingers(page, look))]).toEqual([]);
  await leave();
});

/** Where fingers are what one has, what they cannot hit. */
async function findForFingers(page: Page, { touch = false }: { touch?: boolean }): Promise<string[]> {
  return touch ? findSmallTargets(page) : [];
}

/** Each page is loaded once for a look, and then seen for all that it must be: loading is what takes the time. */
test.each(LOOKS)("every page, in $name, keeps nobody out and fits its window", async (look) => {
  const { page, leave } = await editor.enter("/", look);
  const found: Record<string, unknown> = {};
  const heights = new Set<number>();
  for (const [name, at] of Object.entries(listPages())) {
    await show(page, at);
    found[name] = [
      ...(look.tabs === true && isWithTabs(at) ? await findHiddenTab(page, heights) : []),
      ...(look.purposes === true && isWithPurpose(at) ? await findLackOfPurpose(page) : []),
      ...(await findGrave(page)),
      ...(await findOverflow(page)),
      ...(await findForFingers(page, look)),
      ...(at.path.startsWith("/docs/") ? [] : await findCutAt(page, look)),
    ];
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])));
  expect(heights.size).toBe(look.tabs === true ? 1 : 0);
  await leave();
});

/** Its tabs stand at one height on every page. A name of several lines makes a page's head higher. */
function isWithTabs({ path }: { path: string }): boolean {
  return /^\/(?:workflows|account)/.test(path) && !path.includes(longest.workflowId);
}

async function findHiddenTab(page: Page, heights: Set<number>): Promise<string[]> {
  const tab = page.locator('main nav [aria-current="page"]').first();
  await tab.waitFor();
  const { x, y, width } = (await tab.boundingBox()) ?? { x: -1, y: -1, width: 0 };
  heights.add(Math.round(y));
  return x >= 0 && x + width <= 390 ? [] : [`the tab that is open is at ${x}, ${width} px wide`];
}

/** Every page but documents and single runs says in one line what it is for. */
function isWithPurpose({ path }: { path: string }): boolean {
  return !/^\/(?:docs\/|executions\/|device$)/.test(path);
}

async function findLackOfPurpose(page: Page): Promise<string[]> {
  const line = await page.locator("main :is(nav, h1) + p").first().innerText();
  return /^[A-Z][^.]{10,60}\.$/.test(line) ? [] : [`what it is for: ${line}`];
}

/** What windows between a phone's and a desk's cut off at their side. */
async function findCutAt(page: Page, { between = [], width }: (typeof LOOKS)[number]): Promise<string[]> {
  const found: string[] = [];
  for (const each of between) {
    await page.setViewportSize({ width: each, height: 800 });
    const cut = [...(await findOverflow(page)), ...(await findCut(page))];
    found.push(...cut.map((what) => `${each} px: ${what}`));
  }
  if (between.length > 0) await page.setViewportSize({ width, height: 800 });
  return found;
}

/** Owners of the first account alone see them, as the installation is theirs. */
test.each(LOOKS)("the hosts, in $name, keep nobody out and fit their window", async (look) => {
  const { page, leave } = await editor.visit(look);
  await page.goto("/account/hosts");
  await fillSignIn(page, ownerOf(editor.service.ready));
  await page.getByRole("article").first().waitFor();
  const found = [...(await findGrave(page)), ...(await findOverflow(page)), ...(await findForFingers(page, look))];
  expect([...found, ...(await findCutAt(page, look))]).toEqual([]);
  await leave();
});

test("the list of workflows, in a window between a phone's and a desk's, breaks no name and no time", async () => {
  const { page, leave } = await editor.enter("/", { width: 780 });
  const row = page.getByRole("row").filter({ hasText: "Nightly capacity" });
  for (const words of [row.getByRole("link", { name: "Nightly capacity" }), row.locator("time").last()]) {
    await words.waitFor();
    expect((await words.boundingBox())?.height).toBeLessThan(30);
  }
  await leave();
});

test("the pages, where the system chooses the colours, still show what is on, what is chosen and what went wrong", async () => {
  const { page, leave } = await editor.enter("/");
  await page.emulateMedia({ forcedColors: "active" });
  const styleOf = (selector: string, property: string): Promise<[string, string][]> =>
    page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((it) => [it.textContent, getComputedStyle(it)[${JSON.stringify(property)}]])`,
    );
  await page.goto(listPages()["the form of hello"]?.path as string);
  await page.getByText("What runs").waitFor();
  const [[, canvas] = []] = await styleOf("body", "backgroundColor");
  const edges = await styleOf("nav[aria-label]:not([aria-label=Main]) a", "borderBlockEndColor");
  expect(edges.filter(([, colour]) => colour !== canvas).map(([name]) => name)).toEqual(["Run"]);
  expect(await styleOf(".mantine-Switch-track", "borderTopStyle")).toEqual([["", "solid"]]);

  await page.goto("/account");
  await page.getByText("Ledger").first().waitFor();
  expect(await styleOf(".mantine-SegmentedControl-label", "outlineStyle")).toEqual([
    ["7 days", "none"],
    ["30 days", "solid"],
    ["90 days", "none"],
  ]);
  await leave();
});
