import { readFile } from "node:fs/promises";
import nodePath from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { fillSignIn, ownerOf, signIn, waitUntil } from "../support/browser.ts";
import { join } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;
let vera: { readonly email: string; readonly password: string };

beforeAll(async () => {
  editor = await openEditor("accounts", { examples: ["hello", "nightly"] });
  vera = { email: editor.emailOf("vera"), password: "a long enough password" };
}, 600_000);

afterAll(() => editor?.close());

/** Invites somebody to look, by the form, and answers the address to hand over. */
async function inviteViewer(page: Page): Promise<string> {
  await page.goto("/account/members");
  const form = page.getByRole("region", { name: "Invite a member" });
  await form.getByLabel("Email address").fill(vera.email);
  await form.getByLabel("Role").selectOption("viewer");
  await form.getByRole("button", { name: "Invite" }).click();
  return form.getByRole("textbox", { name: `Invitation for ${vera.email}` }).inputValue();
}

/** The buttons and links with these words that a tab of a workflow shows once its own sign is there. */
async function findControls(page: Page, path: string, sign: string): Promise<string[]> {
  await page.goto(path);
  await page.getByRole("heading", { name: sign, exact: true }).first().waitFor();
  await page.locator('[aria-label$=" loading"]').first().waitFor({ state: "detached" });
  const words = await page.getByRole("main").getByRole("button").allInnerTexts();
  return words.filter((word) =>
    /run|commit|restore|regenerate|reveal|pause|new|upload|enable|invite|cancel|test|send/i.test(word),
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
  await editor.ask("PUT", "/api/secrets/SEEN", { value: "a long enough value" });
  await editor.ask("POST", "/api/places", { name: "seen", kind: "slack", target: "https://localhost/hook" });
  await editor.ask("POST", "/api/places/seen/test");
  const owner = await editor.enter();
  const address = await inviteViewer(owner.page);

  const viewer = await editor.visit();
  const { page } = viewer;
  await page.goto(address);
  await page.getByText("as viewer").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await join(page, vera.password);
  await page.getByRole("link", { name: "Hello" }).waitFor();
  const path = `/workflows/${editor.examples["hello"]?.workflowId}`;
  const controls = {
    list: await findControls(page, "/", "Workflows"),
    run: await findControls(page, `${path}/run`, "Run"),
    code: await findControls(page, `${path}/code?file=main.py`, "main.py"),
    api: await findControls(page, `${path}/api`, "Call it"),
    commits: await findControls(page, `${path}/commits`, "History"),
    schedule: await findControls(page, `/workflows/${editor.examples["nightly"]?.workflowId}/schedule`, "Next runs"),
    members: await findControls(page, "/account/members", "Members"),
    notices: await findControls(page, "/account/notices", "Sent"),
    secrets: await findControls(page, "/account/secrets", "Secrets"),
  };
  await page.getByRole("button", { name: "History of SEEN" }).waitFor();
  expect(await page.getByRole("button", { name: /SEEN$/ }).count()).toBe(1);
  expect(controls).toEqual(Object.fromEntries(Object.keys(controls).map((name) => [name, []])));

  viewer.expectProblems(/status of 403/);
  const routes = `/api${path}`;
  const refused = [
    await callFrom(page, "POST", `${routes}/execute`, {}),
    await callFrom(page, "POST", `${routes}/keys`, { graceSeconds: 0 }),
    await callFrom(page, "PATCH", `${routes}/draft`, { version: 0, changes: [{ path: "a.py", text: "" }] }),
    await callFrom(page, "POST", `${routes}/commits`, { message: "Mine", version: 0, expectedHead: null }),
    await callFrom(page, "POST", "/api/invitations", { email: "x@treadle.localhost", role: "owner" }),
    await callFrom(page, "PUT", "/api/secrets/SEEN", { value: "another value" }),
  ];
  expect(refused).toEqual([403, 403, 403, 403, 403, 403]);

  viewer.expectProblems(/status of 401/);
  await page.goto("/");
  await page.getByRole("link", { name: "Hello" }).waitFor();
  await owner.page.getByRole("button", { name: `Remove ${vera.email}` }).click();
  await owner.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await owner.page.getByRole("rowheader", { name: vera.email }).waitFor({ state: "detached" });
  // The page does nothing by itself: it is told.
  await page.getByRole("alert").filter({ hasText: "You are signed out" }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await fillSignIn(page, vera);
  await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
  await viewer.leave();
  await owner.leave();
});

test("the hosts are shown to an owner of the installation's first account, as they are now; others have no such page", async () => {
  const { page, leave } = await editor.visit();
  await signIn(page, ownerOf(editor.service.ready));
  await page.getByRole("link", { name: "Account" }).click();
  await page.getByRole("link", { name: "Hosts" }).click();
  const host = page.getByRole("article").first(); // a cluster has several
  await host.getByText(/^\d+ of \d+ slots used/).waitFor();
  const facts = Object.fromEntries(
    await Promise.all(
      (await host.locator("dl > div").all()).map(async (fact) => [
        await fact.locator("dt").innerText(),
        await fact.locator("dd").innerText(),
      ]),
    ),
  ) as Record<string, string>;
  expect(facts).toMatchObject({
    Isolation: "bubblewrap",
    Python: expect.stringMatching(/^3\.\d+/),
    "A program gets at most": expect.stringMatching(/cores, .* of scratch$/),
    Load: expect.stringMatching(/^\d+\.\d\d of \d+$/),
  });
  expect(await findGrave(page)).toEqual([]);
  // What the process says next comes by itself.
  const last = host.locator("time");
  const before = await last.getAttribute("datetime");
  await waitUntil("it has said something since", async () => (await last.getAttribute("datetime")) !== before);
  await leave();

  const other = await editor.enter("/account/hosts");
  await other.page.getByRole("heading", { name: "There is no such page" }).waitFor();
  expect(await other.page.getByRole("link", { name: "Hosts" }).count()).toBe(0);
  await other.leave();
});

test("a session, ended on the page of another browser, is signed out there and stays nowhere else in the list", async () => {
  const elsewhere = await editor.visit();
  await signIn(elsewhere.page, editor.owner);
  const { page, leave } = await editor.enter("/account/security");
  const rows = page.getByRole("row").filter({ has: page.getByRole("button", { name: /^End the session of/ }) });
  await rows.first().waitFor();
  const before = await rows.count();
  await rows.first().getByRole("button").click();
  await waitUntil("the session has left the list", async () => (await rows.count()) === before - 1);
  elsewhere.expectProblems(/status of 401/);
  await elsewhere.page.goto("/");
  await elsewhere.page.getByRole("button", { name: "Sign in" }).waitFor();
  await elsewhere.leave();
  await leave();
});

/** What the operator agrees for the account. */
async function agree(
  method: string,
  path: string,
  body: object,
  account = editor.account,
): Promise<Record<string, unknown>> {
  const token = (await readFile(nodePath.join(editor.dataDir, "keys/operator-token"), "utf8")).trim();
  const answer = await editor.service.call(`${path}?account=${account}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status >= 300) throw new Error(answer.text);
  return answer.body;
}

/** What the account keeps, and may keep, by the operator. */
async function putStorage(bytesMax: number | null): Promise<{ bytes: number }> {
  return (await agree("PUT", "/account/storage", { bytesMax }))["storage"] as { bytes: number };
}

test("the account page shows what is kept of what may be kept; when that is all, it says so, and so does the form of a run", async () => {
  const { page, expectProblems, leave } = await editor.enter("/account");
  expectProblems(/status of 507/);
  const storage = page.getByRole("region", { name: "Storage" });
  // As much as the disk lets it keep: 50 GB on a large one.
  await storage.getByText(/^[\d.]+ kB of [\d.]+ GB used$/).waitFor();
  expect(await storage.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("0");
  expect(await storage.getByRole("status").count()).toBe(0);
  const { bytes } = await putStorage(null);
  await putStorage(bytes);
  await page.reload();
  await storage.getByRole("status").filter({ hasText: "No run starts and nothing can be committed" }).waitFor();
  expect(await storage.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("100");
  expect(await findGrave(page)).toEqual([]);
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/run`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "Nothing was started or committed." }).waitFor();
  await putStorage(0);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/executions\//);
  await page.goto("/account");
  await storage.getByText("No limit").waitFor();
  await leave();
});

test("a run that the account cannot pay stays in its form, with what was entered, and is refused by that name elsewhere", async () => {
  const { workflowId } = await editor.publish({
    "config.yaml":
      "name: Dear\ninputs:\n  title: { type: string, label: Title }\n  paper: { type: file, label: Paper }\n",
    "main.py": "def main(title, paper):\n    return {'title': title}\n",
  });
  const { page, expectProblems, leave } = await editor.enter(`/workflows/${workflowId}/run`);
  expectProblems(/status of 402/);
  const { available } = await editor.ask<{ available: number }>("GET", "/api/account");
  const move = (amount: number) =>
    agree("POST", "/account/adjustments", { credits: amount.toFixed(6), reason: "For a test" });
  await move(-available + 0.0005);
  await page.getByRole("textbox", { name: "Title" }).fill("Kept");
  const paper = { name: "paper.txt", mimeType: "text/plain", buffer: Buffer.from("Kept, too\n") };
  await page.getByLabel("Paper", { exact: true }).setInputFiles(paper);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const refused = page.getByRole("alert").filter({ hasText: "Insufficient credits" });
  await refused.getByText(/needs [\d.]+ credits to begin, and the account has 0.0005 available/).waitFor();
  await refused.getByRole("link", { name: "See the account's credits and whom to ask" }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  expect(await page.getByRole("textbox", { name: "Title" }).inputValue()).toBe("Kept");
  await page.getByText("paper.txt").waitFor();

  await page.getByRole("complementary").getByRole("link", { name: "Refused" }).click();
  await page.getByText("It was refused before its inputs were read. None are kept.").waitFor();
  await page.getByRole("link", { name: "Go to the form" }).waitFor();
  expect(await page.getByRole("link", { name: "Temporal" }).count()).toBe(0);
  expect(await page.getByRole("main").getByText("Failed", { exact: true }).count()).toBe(0);
  expect(await page.title()).toContain("Refused · Dear");
  await page.goto("/");
  await page.getByRole("row", { name: /Dear/ }).getByText("Refused", { exact: true }).waitFor();

  await move(available);
  await page.goto(`/workflows/${workflowId}/run`);
  await page.getByRole("textbox", { name: "Title" }).fill("Paid");
  await page.getByLabel("Paper", { exact: true }).setInputFiles(paper);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/executions\//);
  await page.getByText("Success", { exact: true }).first().waitFor();
  await leave();
});

test("the account page, for any period, ends with what it shows", async () => {
  const { page, leave } = await editor.enter("/account");
  await page.getByText("90 days", { exact: true }).click();
  await page.getByText(/in 90 days$/).waitFor();
  const blank = await page.evaluate<number>(
    "document.documentElement.scrollHeight - scrollY - document.querySelector('main').getBoundingClientRect().bottom",
  );
  expect(blank).toBeLessThan(50);
  await leave();
});

test.each([
  { system: "light", chosen: "Dark", background: "rgb(17, 18, 23)" },
  { system: "dark", chosen: "Light", background: "rgb(247, 247, 249)" },
])("the page, in a $system system where $chosen was chosen, has its colours before any script", async (given) => {
  const { system, chosen, background } = given;
  const { page, leave } = await editor.enter("/", { dark: system === "dark" });
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

test("the first page of a new account ticks its first steps off by what is on record, and has what fails and how long credits last", async () => {
  const fresh = await openEditor("fresh");
  try {
    const { page, leave } = await fresh.enter("/");
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByRole("heading", { name: "Bring your script", exact: true }).waitFor();
    expect(await steps.getByRole("heading", { name: /done/ }).count()).toBe(0);
    const figures = page.locator("dl");
    await figures.getByText("nothing spent this week").waitFor();
    await steps.getByRole("button", { name: "New workflow" }).click();
    await page.getByRole("dialog", { name: "New workflow" }).waitFor();
    await page.keyboard.press("Escape");

    const { workflowId, apiKey } = await fresh.publish({
      "config.yaml": "name: Faulty\ntriggers:\n  api: { enabled: true }\n",
      "main.py": 'def main():\n    raise ValueError("No such order.")\n',
    });
    await steps.getByRole("heading", { name: /^Bring your script.*done/ }).waitFor();
    await steps.getByRole("link", { name: "Show the call" }).waitFor();
    expect(await findGrave(page)).toEqual([]);
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    const called = { method: "POST", headers, body: "{}" };
    expect((await fresh.service.call(`/workflows/${workflowId}/execute`, called)).status).toBe(500);
    // All three are done by now: it was the first run, too.
    await steps.waitFor({ state: "detached" });

    await agree("POST", "/account/adjustments", { credits: "-999.99", reason: "Only a little is left" }, fresh.account);
    await page.reload();
    await figures.getByText(/^At this rate until \d+ [A-Z][a-z]+( \d{4})?$/).waitFor();
    expect(await findGrave(page)).toEqual([]);
    await figures.getByRole("link", { name: "Faulty" }).click();
    await page.waitForURL(/\/executions\/ex_/);
    await page.getByText("ValueError: No such order.").first().waitFor();
    await leave();
  } finally {
    await fresh.close();
  }
});
