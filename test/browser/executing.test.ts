import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { waitUntil } from "../support/browser.ts";
import { runForm, waitForSuccess } from "../support/desk.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";
import { CARRY, WAIT } from "../support/programs.ts";

const LETTER = Buffer.from("Dear Ada,\r\n\u0000\u00ff grüße\n");
const ONE = { name: "one.txt", mimeType: "text/plain", buffer: Buffer.from("Page one\n") };
const TWO = { ...ONE, name: "two.txt", buffer: Buffer.from("Page two\n") };
const LARGE_BYTES = 12_000_000;
/** The large file takes a minute, which is long enough to look at it while it is on its way, on a slow machine too. */
const SLOW_BYTES_PER_SECOND = 200_000;

let editor: Editor;
let folder: string;
let carry: Published;
let wait: Published;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-executing-"));
  editor = await openEditor("executing");
  [carry, wait] = [await editor.publish(CARRY), await editor.publish(WAIT)];
}, 600_000);

afterAll(async () => {
  await editor?.close();
  await rm(folder, { recursive: true, force: true });
});

function digest(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

const LETTER_AND_PAGES = {
  "letter.bin": digest(LETTER),
  "one.txt": digest(ONE.buffer),
  "two.txt": digest(TWO.buffer),
};

/** Drags a file of this name and content onto something, and lets go. */
async function drop(page: Page, target: Locator, name: string, content: Buffer): Promise<void> {
  const dataTransfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    const content = Uint8Array.from(atob(${JSON.stringify(content.toString("base64"))}), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([content], ${JSON.stringify(name)}));
    return transfer;
  })()`);
  for (const event of ["dragenter", "dragover", "drop"]) await target.dispatchEvent(event, { dataTransfer });
}

async function readTold(page: Page, executionId: string): Promise<unknown> {
  return (await page.request.get(`/api/run-logs/${executionId}/files/told.json`)).json();
}

async function countExecutions(page: Page, workflowId: string): Promise<number> {
  const answer = await page.request.get(`/api/executions?workflow=${workflowId}&limit=200`);
  return ((await answer.json()) as { executions: unknown[] }).executions.length;
}

test("a form with files, dropped and chosen, runs with their bytes on a page of its own; filled in again, it runs with the same files and another value", async () => {
  const { page, leave } = await editor.enter(`/workflows/${carry.workflowId}/run`);
  await page.getByLabel("Title", { exact: true }).fill("Dropped");
  await drop(page, page.getByRole("button", { name: "Choose a file" }), "letter.bin", LETTER);
  await page.getByText("letter.bin").waitFor();
  await page.getByLabel("Pages", { exact: true }).setInputFiles([ONE, TWO]);
  await page.getByRole("button", { name: "Remove two.txt" }).waitFor();
  const first = await runForm(page);
  await page.reload();
  await waitForSuccess(page);
  expect(new URL(page.url()).pathname).toBe(`/executions/${first}`);
  expect(await readTold(page, first)).toEqual({ title: "Dropped", files: LETTER_AND_PAGES });
  const given = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download the input document: letter.bin" }).click();
  expect((await readFile(await (await given).path())).equals(LETTER)).toBe(true);
  await page.getByRole("link", { name: "Download the input pages: two.txt" }).waitFor();

  await page.getByRole("link", { name: "Edit and rerun" }).click();
  await page.getByRole("heading", { name: "Run again" }).waitFor();
  expect(await page.getByLabel("Title", { exact: true }).inputValue()).toBe("Dropped");
  // What shows files is fetched once there are some.
  await page.getByText("from the earlier run").first().waitFor();
  expect(await page.getByText("from the earlier run").count()).toBe(3);
  await page.getByLabel("Title", { exact: true }).fill("Again");
  const second = await runForm(page);
  await waitForSuccess(page);
  expect(second).not.toBe(first);
  expect(await readTold(page, second)).toEqual({ title: "Again", files: LETTER_AND_PAGES });
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download copy.bin" }).click();
  expect((await readFile(await (await download).path())).equals(LETTER)).toBe(true);

  // As it is when its files were kept long enough.
  await page.route(`**/api/executions/${second}`, async (route) => {
    const response = await route.fetch();
    const record = (await response.json()) as object;
    await route.fulfill({ response, json: { ...record, files: [], filesRemovedAt: "2026-01-01T00:00:00Z" } });
  });
  await page.reload();
  await page.getByText("The files are no longer kept.").waitFor();
  await page.getByText("Its files are no longer kept.").waitFor();
  expect(await page.getByRole("link", { name: /^Download the input/ }).count()).toBe(0);
  await leave();
});

test("a file, dropped beside the place for it, leaves the page and its form alone", async () => {
  const { page, leave } = await editor.enter(`/workflows/${carry.workflowId}/run`);
  await page.getByLabel("Title", { exact: true }).fill("Kept");
  // The place is a part of the page that comes by itself.
  await page.getByLabel("Document", { exact: true }).waitFor({ state: "attached" });
  const refused = await page.evaluate<boolean>(`(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([""], "stray.txt"));
    return !document.querySelector("h1").dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
  })()`);
  expect(refused).toBe(true);
  expect(await page.getByLabel("Title", { exact: true }).inputValue()).toBe("Kept");
  await leave();
});

test("files on their way, cancelled, run nothing and stay in the form; sent again, they arrive", async () => {
  const { page, context, leave } = await editor.enter(`/workflows/${carry.workflowId}/run`);
  const before = await countExecutions(page, carry.workflowId);
  const content = Buffer.alloc(LARGE_BYTES, "a shuttle goes to and fro ");
  const path = join(folder, "large.bin");
  await writeFile(path, content);
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  const limitUploads = (uploadThroughput: number) =>
    network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  await limitUploads(SLOW_BYTES_PER_SECOND);

  await page.getByLabel("Document", { exact: true }).setInputFiles(path);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const bar = page.getByRole("progressbar", { name: "Files sent" });
  const percent = async () => Number(await bar.getAttribute("aria-valuenow"));
  await bar.waitFor();
  await waitUntil("some of the file is sent", async () => (await percent()) > 0);
  expect(await percent()).toBeLessThan(100);
  await page.getByText(/ of 12(\.0)? MB sent$/).waitFor();
  await page.getByRole("link", { name: "Workflows", exact: true }).first().click();
  const asked = page.getByRole("dialog", { name: "Files are still uploading" });
  await asked.waitFor();
  expect(await findGrave(page)).toEqual([]);
  await asked.getByRole("button", { name: "Stay here" }).click();
  await asked.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await bar.waitFor({ state: "detached" });
  await page.getByText("large.bin").waitFor();
  expect(await countExecutions(page, carry.workflowId)).toBe(before);

  await limitUploads(-1);
  const executionId = await runForm(page);
  await waitForSuccess(page);
  expect(await readTold(page, executionId)).toEqual({ title: "First", files: { "large.bin": digest(content) } });
  expect(await countExecutions(page, carry.workflowId)).toBe(before + 1);
  await leave();
});

test("a draft, run without committing it, is marked as one wherever it is shown, and leaves the commits alone", async () => {
  const { page, leave } = await editor.enter(`/workflows/${carry.workflowId}/code?file=main.py`);
  await page.getByRole("textbox", { name: "main.py" }).waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText('print("of the draft")\n');
  await leaveTheCode(page);
  await page.getByRole("heading", { name: "Run your draft" }).waitFor();
  await page.getByLabel("Document", { exact: true }).setInputFiles({ ...ONE, name: "kept.txt" });
  const answer = page.waitForResponse(/\/draft\/execute$/);
  const executionId = await runForm(page, "Run the draft");
  expect(await (await answer).json()).toMatchObject({ executionId, draft: true });
  await waitForSuccess(page);
  await page.getByRole("banner").waitFor();
  await page.getByText("Draft", { exact: true }).waitFor();
  await page.getByText("Carrying kept.txt").first().waitFor();
  expect(await page.locator("[data-index]").allInnerTexts()).toEqual([
    "1\nof the draft",
    "2\nCarrying kept.txt for First",
  ]);

  await page.getByRole("link", { name: "Edit and rerun" }).click();
  await page.getByRole("heading", { name: "Run your draft" }).waitFor();
  await page.getByText("from the earlier run").waitFor();
  const again = await runForm(page, "Run the draft");
  await waitForSuccess(page);
  expect(await readTold(page, again)).toMatchObject({ files: { "kept.txt": digest(ONE.buffer) } });

  await page.goto(`/workflows/${carry.workflowId}/runs`);
  const line = page.getByRole("row").filter({ has: page.locator(`a[href="/executions/${executionId}"]`) });
  await line.getByText("Draft", { exact: true }).waitFor();
  const commits = await page.request.get(`/api/workflows/${carry.workflowId}/commits`);
  expect(((await commits.json()) as { commits: unknown[] }).commits).toHaveLength(1);
  await leave();
});

test("a draft that cannot be run, when it is tried, is refused with the place of the mistake, which leads there", async () => {
  const { page, expectProblems, leave } = await editor.enter(`/workflows/${carry.workflowId}/code?file=config.yaml`);
  expectProblems(/400 .*\/draft\/execute/);
  await page.getByRole("textbox", { name: "config.yaml" }).waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("entrypoint: gone.py\n");
  await leaveTheCode(page);
  await page.getByLabel("Document", { exact: true }).setInputFiles(ONE);
  await page.getByRole("button", { name: "Run the draft" }).click();
  const refusal = page.getByRole("alert").filter({ hasText: "gone.py" });
  await refusal.waitFor();
  expect(await refusal.innerText()).not.toContain("undefined");
  expect(await findGrave(page)).toEqual([]);
  await refusal.getByRole("link", { name: "config.yaml:1:13" }).click();
  await page.locator(".cm-editor.cm-focused").getByRole("textbox", { name: "config.yaml" }).waitFor();
  await leave();
});

/** Runs the draft where its form has no room beside the code. */
async function leaveTheCode(page: Page): Promise<void> {
  await page.setViewportSize({ width: 820, height: 800 });
  await page.getByRole("button", { name: "Test beside the code" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Run this draft" }).click();
}

/** Starts an execution by a call of a program, as the workflow's commit then is; answers its id. */
async function start(label: string): Promise<string> {
  const answer = await editor.service.call(`/workflows/${wait.workflowId}/execute`, {
    method: "POST",
    headers: { "x-api-key": wait.apiKey, "content-type": "application/json", prefer: "respond-async" },
    body: JSON.stringify({ label }),
  });
  expect([200, 202]).toContain(answer.status);
  return String(answer.body["executionId"]);
}

/** Waits until the list shows just these executions. */
async function waitForLines(page: Page, ids: readonly string[]): Promise<void> {
  const wanted = ids.map((id) => `/executions/${id}`).toSorted();
  const shown = `[...document.querySelectorAll('tbody a[href^="/executions/ex_"]')].map((link) => link.getAttribute("href"))`;
  await waitUntil(`the list has ${ids.length} lines`, async () => {
    return (await page.evaluate<string[]>(shown)).toSorted().join() === wanted.join();
  });
}

test("executions that go on, chosen together, are cancelled together, and the list shows it", async () => {
  const { page, leave } = await editor.enter();
  const ids = [await start("a"), await start("b"), await start("c")];
  await page.goto(`/workflows/${wait.workflowId}/runs`);
  await waitForLines(page, ids);
  await page.getByRole("checkbox", { name: new RegExp(ids[0] as string) }).check();
  const bar = page.getByRole("region", { name: "Chosen runs" });
  await bar.getByText("1 run chosen").waitFor();
  await page.getByRole("checkbox", { name: "Choose all that go on" }).check();
  await bar.getByText("3 runs chosen").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await bar.getByRole("button", { name: "Cancel all 3" }).click();
  await page.getByText("3 runs are being cancelled.").waitFor();
  const cancelled = page.getByRole("row").filter({ hasText: "Cancelled" });
  await waitUntil("all three are cancelled", async () => (await cancelled.count()) === 3);
  // The state says it; a sentence that says it again is left out.
  expect(await page.getByText("was cancelled").count()).toBe(0);
  await bar.waitFor({ state: "detached" });
  for (const id of ids) {
    const record = await page.request.get(`/api/executions/${id}`);
    expect(await record.json()).toMatchObject({ status: "cancelled" });
  }
  await leave();
});

test("the list of executions, narrowed by state, trigger, commit, text and date, shows what fits, and so does its address", async () => {
  const { page, leave } = await editor.enter(`/workflows/${wait.workflowId}/run`);
  await page.getByRole("textbox", { name: "Label" }).fill("fail");
  const failed = await runForm(page);
  await page.getByRole("alert").filter({ hasText: "There is no such label." }).waitFor();
  const files = { ...WAIT, "README.md": "Another commit.\n" };
  const next = await editor.publish(files, wait.workflowId);
  const latest = await start("end");
  await page.goto(`/executions/${latest}`);
  await waitForSuccess(page);

  const path = `/workflows/${wait.workflowId}/runs`;
  await page.goto(path);
  await page.getByLabel("State", { exact: true }).selectOption({ label: "Failed" });
  await waitForLines(page, [failed]);
  await page.reload();
  await waitForLines(page, [failed]);
  expect(new URL(page.url()).search).toBe("?state=failed");
  await page.getByLabel("State", { exact: true }).selectOption({ label: "Any state" });
  await page.getByLabel("Trigger", { exact: true }).selectOption({ label: "Form" });
  await waitForLines(page, [failed]);
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Commit", { exact: true }).fill(next.commitId.slice(0, 7).toUpperCase());
  await waitForLines(page, [latest]);
  await page.getByRole("button", { name: "Clear" }).click();
  const text = page.getByLabel("Text", { exact: true });
  await text.pressSequentially("no such ");
  await waitForLines(page, [failed]);
  await text.pressSequentially("label");
  await page.waitForURL(/text=no(\+|%20)such(\+|%20)label$/);
  expect(await text.inputValue()).toBe("no such label");
  await page.getByRole("button", { name: "Clear" }).click();
  expect(await text.inputValue()).toBe("");
  await page.getByLabel("Until this day").fill("2020-01-01");
  await page.getByRole("heading", { name: "No run passes these filters" }).waitFor();

  await page.goto(`/executions?workflow=${wait.workflowId}&state=success&commit=${next.commitId}`);
  await waitForLines(page, [latest]);
  const chosen = page.getByLabel("Workflow", { exact: true });
  // The list of workflows may come after the runs.
  await chosen.locator(`option[value="${wait.workflowId}"]`).waitFor({ state: "attached" });
  expect(await chosen.inputValue()).toBe(wait.workflowId);
  await chosen.selectOption({ label: "All workflows" });
  await page.waitForURL(/\/executions\?state=success$/);
  await leave();
});
