import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { findGrave, findOverflow } from "../support/accessibility.ts";
import { openBrowser, ownerOf, signIn, visit } from "../support/browser.ts";
import { aDataDir, exampleOf, startService, type TestService } from "../support/service.ts";

const LOOKS = [
  { name: "light", dark: false, width: 1280 },
  { name: "dark", dark: true, width: 1280 },
  { name: "light on a phone", dark: false, width: 390 },
];

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let browser: Browser;
let executionId: string;

beforeAll(async () => {
  dataDir = await aDataDir();
  const env = { TREADLE_EXAMPLES: "hello,merge-files,nightly" };
  [browser, service] = await Promise.all([openBrowser(), startService({ dataDir: dataDir.dataDir, env })]);
  executionId = String((await service.execute("hello", { name: "Ada" })).body["executionId"]);
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await dataDir?.remove();
});

function listPages(): Record<string, { path: string; sign: string }> {
  const workflow = (example: string): string => `/workflows/${exampleOf(service.ready, example).workflowId}`;
  return {
    workflows: { path: "/", sign: "Workflows" },
    "the form of hello": { path: `${workflow("hello")}/run`, sign: "What runs" },
    "the form of merge-files": { path: `${workflow("merge-files")}/run`, sign: "What runs" },
    "the form of nightly": { path: `${workflow("nightly")}/run`, sign: "What runs" },
    "the code of nightly": { path: `${workflow("nightly")}/code?file=config.yaml`, sign: "config.yaml" },
    "the API of nightly": { path: `${workflow("nightly")}/api`, sign: "Call it" },
    "the schedule of nightly": { path: `${workflow("nightly")}/schedule`, sign: "Next runs" },
    "the commits of nightly": { path: `${workflow("nightly")}/commits`, sign: "History" },
    "the runs of hello": { path: `${workflow("hello")}/runs`, sign: "Hello" },
    runs: { path: "/executions", sign: "Runs" },
    "a run": { path: `/executions/${executionId}`, sign: "Outputs" },
    credits: { path: "/account", sign: "Ledger" },
    members: { path: "/account/members", sign: "Members" },
    tokens: { path: "/account/tokens", sign: "Access tokens" },
    security: { path: "/account/security", sign: "Sessions" },
  };
}

test.each(LOOKS)("the sign-in, in $name, keeps nobody out", async ({ dark, width }) => {
  const { page, leave } = await visit(browser, service.ready, { dark, width });
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

test.each(LOOKS)("every page, in $name, keeps nobody out and fits its window", async ({ dark, width }) => {
  const { page, leave } = await visit(browser, service.ready, { dark, width });
  await signIn(page, ownerOf(service.ready));
  const found: Record<string, unknown> = {};
  for (const [name, { path, sign }] of Object.entries(listPages())) {
    await page.goto(path);
    await page.getByRole("heading", { name: sign, exact: true }).first().waitFor();
    await page.locator('[aria-label$=" loading"]').first().waitFor({ state: "detached" });
    found[name] = [...(await findGrave(page)), ...(await findOverflow(page))];
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(found).map((name) => [name, []])));
  await leave();
});
