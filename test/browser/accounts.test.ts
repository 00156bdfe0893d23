import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { fillSignIn, openBrowser, ownerOf, signIn, visit } from "../support/browser.ts";
import { join } from "../support/desk.ts";
import { aDataDir, exampleOf, startService, type TestService } from "../support/service.ts";

const VIEWER = { email: "vera@treadle.localhost", password: "a long enough password" };

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let browser: Browser;

beforeAll(async () => {
  dataDir = await aDataDir();
  const env = { TREADLE_EXAMPLES: "hello,nightly" };
  [browser, service] = await Promise.all([openBrowser(), startService({ dataDir: dataDir.dataDir, env })]);
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await dataDir?.remove();
});

/** Invites somebody to look, by the form, and answers the address to hand over. */
async function inviteViewer(page: Page): Promise<string> {
  await page.goto("/account/members");
  const form = page.getByRole("region", { name: "Invite somebody" });
  await form.getByLabel("Email address").fill(VIEWER.email);
  await form.getByLabel("Role").selectOption("viewer");
  await form.getByRole("button", { name: "Invite" }).click();
  return form.getByRole("textbox", { name: `Invitation for ${VIEWER.email}` }).inputValue();
}

/** The buttons and links with these words that a tab of a workflow shows once its own sign is there. */
async function findControls(page: Page, path: string, sign: string): Promise<string[]> {
  await page.goto(path);
  await page.getByRole("heading", { name: sign, exact: true }).first().waitFor();
  await page.locator('[aria-label$=" loading"]').first().waitFor({ state: "detached" });
  const words = await page.getByRole("main").getByRole("button").allInnerTexts();
  return words.filter((word) =>
    /run|commit|restore|regenerate|reveal|pause|new|upload|enable|invite|cancel/i.test(word),
  );
}

/** What the service says to a call of the page's own. */
function callFrom(page: Page, method: string, path: string, body: unknown): Promise<number> {
  return page.evaluate(
    async ([verb, address, text]) => {
      const headers = { "content-type": "application/json" };
      return (await fetch(address, { method: verb, headers, body: text })).status;
    },
    [method, path, JSON.stringify(body)] as const,
  );
}

test("a viewer, invited by a link, sees everything and changes nothing, and is told at once when they are removed", async () => {
  const owner = await visit(browser, service.ready);
  await signIn(owner.page, ownerOf(service.ready));
  const address = await inviteViewer(owner.page);

  const viewer = await visit(browser, service.ready);
  const { page } = viewer;
  await page.goto(address);
  await page.getByText("as viewer").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await join(page, VIEWER.password);
  await page.getByRole("link", { name: "Hello" }).waitFor();
  const { workflowId } = exampleOf(service.ready, "hello");
  const path = `/workflows/${workflowId}`;
  const controls = {
    list: await findControls(page, "/", "Workflows"),
    run: await findControls(page, `${path}/run`, "Run"),
    code: await findControls(page, `${path}/code?file=main.py`, "main.py"),
    api: await findControls(page, `${path}/api`, "Call it"),
    commits: await findControls(page, `${path}/commits`, "History"),
    schedule: await findControls(
      page,
      `/workflows/${exampleOf(service.ready, "nightly").workflowId}/schedule`,
      "Next runs",
    ),
    members: await findControls(page, "/account/members", "Members"),
  };
  expect(controls).toEqual(Object.fromEntries(Object.keys(controls).map((name) => [name, []])));

  viewer.expectProblems(/status of 403/);
  const editor = `/api/editor${path}`;
  const refused = [
    await callFrom(page, "POST", `/api${path}/execute`, {}),
    await callFrom(page, "POST", `${editor}/key/rotate`, { graceDays: 0 }),
    await callFrom(page, "POST", `${editor}/draft`, { version: 0, changes: [{ path: "a.py", text: "" }] }),
    await callFrom(page, "POST", `${editor}/commits`, { message: "Mine", version: 0, expectedHead: null }),
    await callFrom(page, "POST", "/api/editor/invitations", { email: "x@treadle.localhost", role: "owner" }),
  ];
  expect(refused).toEqual([403, 403, 403, 403, 403]);

  viewer.expectProblems(/status of 401/);
  await page.goto("/");
  await page.getByRole("link", { name: "Hello" }).waitFor();
  await owner.page.getByRole("button", { name: `Remove ${VIEWER.email}` }).click();
  await owner.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await owner.page.getByRole("rowheader", { name: VIEWER.email }).waitFor({ state: "detached" });
  // The page does nothing by itself: it is told.
  await page.getByRole("alert").filter({ hasText: "You are signed out" }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await fillSignIn(page, VIEWER);
  await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
  await viewer.leave();
  await owner.leave();
});

test.each([
  { system: "light", chosen: "Dark", background: "rgb(17, 18, 23)" },
  { system: "dark", chosen: "Light", background: "rgb(247, 247, 249)" },
])("the page, in a $system system where $chosen was chosen, has its colours before any script", async (given) => {
  const { system, chosen, background } = given;
  const { page, leave } = await visit(browser, service.ready, { dark: system === "dark" });
  await signIn(page, ownerOf(service.ready));
  await page.getByRole("button", { name: /^Colours/ }).click();
  await page.getByRole("menuitem", { name: chosen }).click();
  await page.getByRole("button", { name: `Colours: ${chosen}` }).waitFor();

  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route("**/assets/*.js", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/", { waitUntil: "commit" });
  const style = page.locator("link[rel=stylesheet]").first();
  await style.waitFor({ state: "attached" });
  // A style sheet is fetched before anything is drawn.
  const findColours = () =>
    page.evaluate<[string, string]>(
      "[getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.documentElement).colorScheme]",
    );
  while ((await page.evaluate("document.styleSheets.length")) === 0) await page.waitForTimeout(20);
  expect(await findColours()).toEqual([background, chosen.toLowerCase()]);
  expect(await page.locator("#root").innerHTML()).toBe("");
  release();
  await page.getByRole("button", { name: `Colours: ${chosen}` }).click();
  await page.getByRole("menuitem", { name: "As the system" }).click();
  await page.unrouteAll({ behavior: "wait" });
  await page.reload();
  await page.getByRole("button", { name: "Colours: As the system" }).waitFor();
  expect(await page.locator("html").getAttribute("data-mantine-color-scheme")).toBe(system);
  await leave();
});
