import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { fillSignIn, waitUntil } from "../support/browser.ts";
import { IS_LONG } from "../support/cluster.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";
import type { Answer } from "../support/service.ts";

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("calling", { examples: ["hello", "nightly"] });
}, 600_000);

afterAll(() => editor?.close());

/** The owner at a tab of an example, with the right to read what was copied. */
async function anOwnerAt(example: string, tab: string) {
  const visitor = await editor.enter();
  await visitor.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { workflowId, apiKey } = editor.examples[example] as Published;
  await visitor.page.goto(`/workflows/${workflowId}/${tab}`);
  return { ...visitor, workflowId, apiKey };
}

function readCopied(page: Page): Promise<string> {
  return page.evaluate<string>("navigator.clipboard.readText()");
}

function call(workflowId: string, apiKey: string): Promise<Answer> {
  return editor.service.call(`/workflows/${workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: "{}",
  });
}

test("the key, copied from the page, opens the workflow until it is replaced at once, and the new one does then", async () => {
  const { page, workflowId, apiKey, leave } = await anOwnerAt("hello", "api");
  const card = page.getByRole("region", { name: "Key" });
  await card.getByText(/^trd_•+/).waitFor();
  await card.getByRole("button", { name: "Copy" }).click();
  await card.getByText("Key copied").waitFor();
  const old = await readCopied(page);
  expect(old).toBe(apiKey);
  expect((await call(workflowId, old)).status).toBe(200);

  await card.getByRole("button", { name: "Regenerate" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("At once", { exact: true }).click();
  await dialog.getByText(/is refused \(401\) from this moment on/).waitFor();
  await dialog.getByRole("button", { name: "Regenerate" }).click();
  await dialog.waitFor({ state: "detached" });
  const current = await card.getByText(/^trd_[0-9A-Za-z]+$/).innerText();
  expect(current).not.toBe(old);
  expect([(await call(workflowId, old)).status, (await call(workflowId, current)).status]).toEqual([401, 200]);
  await page.getByRole("region", { name: "Recent calls" }).getByText("Success").first().waitFor();

  // Replaced once more, with a day of grace, which is then ended by hand.
  await card.getByRole("button", { name: "Regenerate" }).click();
  await dialog.getByText("1 day", { exact: true }).click();
  await dialog.getByRole("button", { name: "Regenerate" }).click();
  await dialog.waitFor({ state: "detached" });
  expect((await call(workflowId, current)).status).toBe(200);
  await card.getByRole("button", { name: /^End it now/ }).click();
  await card.getByText(/works until/).waitFor({ state: "detached" });
  expect((await call(workflowId, current)).status).toBe(401);
  await leave();
});

test("calls that are refused, for their inputs or their key, are listed with the reason and the end of the key", async () => {
  const { page, workflowId, apiKey, leave } = await anOwnerAt("nightly", "api");
  const send = (key: string, body: object) =>
    editor.service.call(`/workflows/${workflowId}/execute`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const wrong = await send(apiKey, { topp: 3 });
  expect(wrong.status).toBe(400);
  expect((await send(`${apiKey.slice(0, -4)}wxyz`, {})).status).toBe(401);
  const calls = page.getByRole("region", { name: "Recent calls" });
  const [bad, foreign] = ["400", "401"].map((status) =>
    calls.getByRole("listitem").filter({ hasText: `Refused ${status}` }),
  );
  await bad?.getByText(String(wrong.body["message"])).waitFor();
  await bad?.getByText(`…${apiKey.slice(-4)}`).waitFor();
  await foreign?.getByText("…wxyz").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

test("the API trigger, disabled on the page, is so in the draft, which shows what that changes before", async () => {
  const { page, leave } = await anOwnerAt("hello", "api");
  await page.getByRole("button", { name: "Disable" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator(".cm-deletedChunk", { hasText: "enabled: true" }).waitFor();
  await dialog.getByRole("button", { name: "Change the draft" }).click();
  await page.getByRole("textbox", { name: "config.yaml" }).waitFor();
  await page.locator(".cm-line", { hasText: "api: { enabled: false }" }).waitFor();
  await leave();
});

test("a schedule, paused on the page, shows the line that changes, commits it, and has no next runs then", async () => {
  const { page, workflowId, apiKey, leave } = await anOwnerAt("nightly", "schedule");
  await page.getByRole("heading", { name: "Every weekday at 06:30, Europe/Berlin" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator(".cm-deletedChunk", { hasText: "enabled: true" }).waitFor();
  await dialog.locator(".cm-changedLine", { hasText: "enabled: false" }).waitFor();
  await dialog.getByRole("button", { name: "Commit and pause" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByText("None while the schedule is paused.").waitFor();
  const told = await editor.service.call(`/workflows/${workflowId}/schedule`, {
    method: "GET",
    headers: { "x-api-key": apiKey },
  });
  expect(told.body).toMatchObject({ paused: true, nextRuns: [] });

  await page.getByRole("button", { name: "Resume" }).click();
  await dialog.getByRole("button", { name: "Commit and resume" }).click();
  await dialog.waitFor({ state: "detached" });
  const runs = page.getByRole("table").first().getByRole("row");
  await runs.nth(10).waitFor();
  expect(await runs.count()).toBe(11);
  await leave();
});

test("a snippet, copied from the page, has the real key and this workflow's inputs", async () => {
  const { page, workflowId, apiKey, leave } = await anOwnerAt("nightly", "api");
  const card = page.getByRole("region", { name: "Call it" });
  await card.getByText(/^curl /).waitFor();
  await card.getByRole("button", { name: "Copy" }).click();
  await card.getByText("Snippet copied").waitFor();
  const copied = await readCopied(page);
  // The certificate of a balancer is not the service's.
  const own = IS_LONG ? [] : [editor.service.ready.caFile];
  for (const part of [apiKey, `/workflows/${workflowId}/execute`, '"weeks": 4', '"Ada"', ...own])
    expect(copied).toContain(part);
  await leave();
});

/** What `treadle login` asks the service for. */
async function post(path: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  return editor.service.call(path, { method: "POST", headers, body: JSON.stringify(body) });
}

test("a command line, allowed on the page it opens after the sign-in there, has a token; refused by its typed code, it has none", async () => {
  const [allowed, refused] = await Promise.all(["ada-laptop", "other"].map((name) => post("/device-codes", { name })));
  const codesOf = (answer: Answer | undefined) => answer?.body as { deviceCode: string; userCode: string };
  const visitor = await editor.visit();
  const { page } = visitor;
  await page.goto(`/device#${codesOf(allowed).userCode}`);
  await fillSignIn(page, editor.owner);
  await page.getByText("Let the command line on ada-laptop use your account?").waitFor();
  expect(await page.getByRole("main").innerText()).toContain(codesOf(allowed).userCode);
  expect(await findGrave(page)).toEqual([]);
  // Whoever leads somebody to the page has reached nothing by that.
  expect((await post("/device-codes/token", codesOf(allowed))).status).toBe(400);
  const { deviceCode } = codesOf(allowed);
  expect((await post("/device-codes/token", { deviceCode })).status).toBe(202);
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("heading", { name: "Signed in" }).waitFor();
  await waitUntil("the token can be fetched", async () => {
    const { status } = await post("/device-codes/token", { deviceCode });
    if (![201, 429].includes(status)) throw new Error(`The token was answered ${status}.`);
    return status === 201;
  });
  await page.goto("/account/tokens");
  await page.getByRole("rowheader", { name: "ada-laptop" }).waitFor();

  await page.goto("/device");
  await page.getByLabel("Code").fill("bbbbbbbb");
  visitor.expectProblems(/status of 404/);
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("alert").filter({ hasText: "No command line waits with this code" }).waitFor();
  await page.getByRole("button", { name: "Type another code" }).click();
  await page.getByLabel("Code").fill(codesOf(refused).userCode.toLowerCase().replace("-", " "));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Refuse" }).click();
  await page.getByRole("heading", { name: "Refused" }).waitFor();
  expect((await post("/device-codes/token", { deviceCode: codesOf(refused).deviceCode })).status).toBe(403);
  await visitor.leave();
});
