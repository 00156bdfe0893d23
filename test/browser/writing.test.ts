import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { openBrowser, ownerOf, signIn, visit } from "../support/browser.ts";
import { treadle } from "../support/command-line.ts";
import { aDataDir, startService, type TestService } from "../support/service.ts";

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let browser: Browser;
let made = 0;

beforeAll(async () => {
  dataDir = await aDataDir();
  [browser, service] = await Promise.all([openBrowser(), startService({ dataDir: dataDir.dataDir })]);
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await dataDir?.remove();
});

/** Somebody at the code of a new workflow of their own, made of the example. */
async function aWriter() {
  const visitor = await visit(browser, service.ready);
  const { page } = visitor;
  await signIn(page, ownerOf(service.ready));
  await page.getByRole("button", { name: "New workflow" }).first().click();
  made += 1;
  await page.getByRole("textbox", { name: "Name" }).fill(`Written ${made}`);
  await page.getByRole("radio", { name: "Hello" }).check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/workflows\/wf_\w+/);
  const workflowId = /wf_\w+/.exec(page.url())?.[0] as string;
  await openFile(page, workflowId, "config.yaml");
  return { ...visitor, workflowId };
}

async function openFile(page: Page, workflowId: string, file: string): Promise<void> {
  await page.goto(`/workflows/${workflowId}/code?file=${file}`);
  await page.getByRole("textbox", { name: file }).waitFor();
}

/** Puts a text in at the beginning of the file that is open. */
async function writeFirst(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText(text);
}

async function waitUntilSaved(page: Page): Promise<void> {
  await page.getByRole("status").filter({ hasText: "Draft saved" }).waitFor();
}

/** Opens the dialog by its keys, says what changes, and commits by its keys. */
async function commit(page: Page, message: string): Promise<void> {
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("textbox", { name: /What changes/ }).fill(message);
  await page
    .getByRole("dialog")
    .getByRole("button", { name: "Commit", exact: true })
    .and(page.locator(":enabled"))
    .waitFor();
  await page.getByRole("textbox", { name: /What changes/ }).press("Control+Enter");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("a config.yaml with an error, while it is written, is underlined at its line, and can be committed when it is right", async () => {
  const { page, workflowId, leave } = await aWriter();
  await writeFirst(page, "nmae: Mine\n");
  await page.locator(".cm-lintRange-error", { hasText: "nmae" }).waitFor();
  const problem = page.getByRole("region", { name: "Problems" });
  await problem.getByText("config.yaml:1:1").waitFor();

  for (const _letter of "nmae: Mine\n") await page.keyboard.press("Backspace");
  await problem.waitFor({ state: "detached" });
  await writeFirst(page, "# mine\n");
  await page.keyboard.press("Control+s");
  await waitUntilSaved(page);
  await commit(page, "Say whose it is");

  await page.goto(`/workflows/${workflowId}/commits`);
  await page.getByRole("link", { name: "Say whose it is" }).click();
  const changed = page.getByRole("region", { name: "config.yaml, added" });
  await changed.getByText("# mine").waitFor();
  await leave();
});

test("a draft, after the page was loaded again, is there as it was written", async () => {
  const { page, workflowId, leave } = await aWriter();
  await writeFirst(page, "# kept\n");
  await waitUntilSaved(page);
  await openFile(page, workflowId, "config.yaml");
  await page.locator(".cm-line", { hasText: "# kept" }).waitFor();
  await leave();
});

test("a file, renamed and another deleted by keys, is so after the page was loaded again", async () => {
  const { page, workflowId, leave } = await aWriter();
  await page.getByRole("treeitem", { name: "main.py" }).press("F2");
  await page.getByRole("textbox", { name: "New name of main.py" }).fill("steps/first.py");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: "first.py" }).waitFor();
  await page.getByRole("treeitem", { name: "README.md" }).press("Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("treeitem", { name: "README.md" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Upload files" }).waitFor();
  await page
    .locator("input[type=file][multiple]")
    .setInputFiles([{ name: "data.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 1, 2]) }]);
  await page.getByText("This file is not shown").waitFor();
  await waitUntilSaved(page);
  await page.goto(`/workflows/${workflowId}/code`);
  await page.getByRole("treeitem", { name: "data.bin" }).waitFor();
  const names = await page.getByRole("treeitem").allInnerTexts();
  expect(names.toSorted()).toEqual(["config.yaml", "data.bin", "first.py", "steps"]);
  await leave();
});

test("a draft, changed in two tabs, is not overwritten by the second until that is wanted", async () => {
  const { page, workflowId, context, expectProblems, leave } = await aWriter();
  expectProblems(/409 .*\/draft/);
  const other = await context.newPage();
  await openFile(other, workflowId, "config.yaml");
  await writeFirst(page, "# from here\n");
  await waitUntilSaved(page);
  await writeFirst(other, "# from there\n");
  await other.getByRole("alert").filter({ hasText: "changed in another tab" }).waitFor();
  await other.getByRole("button", { name: "Keep what is here" }).click();
  await waitUntilSaved(other);
  await openFile(page, workflowId, "config.yaml");
  await page.locator(".cm-line", { hasText: "# from there" }).waitFor();
  await leave();
});

test("a commit, when somebody else was first, is told, shows what they did, and keeps both after taking it over", async () => {
  const owner = await aWriter();
  const { page, workflowId } = owner;
  await writeFirst(page, "# first\n");
  await waitUntilSaved(page);
  await commit(page, "First");

  const member = await visit(browser, service.ready);
  const invited = await treadle(dataDir.dataDir, ["invitations", "create", `m${made}@treadle.localhost`, "--json"]);
  await member.page.goto(String(invited.json()["url"]));
  await member.page.locator("input[name=password]").fill("a long enough password");
  await member.page.getByRole("button", { name: "Join" }).click();
  await member.page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await openFile(member.page, workflowId, "main.py");
  await writeFirst(member.page, "# theirs\n");
  await waitUntilSaved(member.page);

  await openFile(page, workflowId, "config.yaml");
  await writeFirst(page, "# second\n");
  await waitUntilSaved(page);
  await commit(page, "Second");

  await openFile(member.page, workflowId, "main.py");
  const notice = member.page.getByRole("alert").filter({ hasText: "Somebody has committed" });
  await notice.getByRole("button", { name: "Show what changed" }).click();
  await member.page.getByRole("region", { name: "config.yaml, changed" }).getByText("# second").waitFor();
  await notice.getByRole("button", { name: "Take it over" }).click();
  await notice.waitFor({ state: "detached" });
  await commit(member.page, "Theirs");
  await openFile(member.page, workflowId, "config.yaml");
  await member.page.locator(".cm-line", { hasText: "# second" }).waitFor();
  await openFile(member.page, workflowId, "main.py");
  await member.page.locator(".cm-line", { hasText: "# theirs" }).waitFor();
  await member.leave();
  await owner.leave();
});

test("an earlier commit, restored, is the latest again and stays in the history", async () => {
  const { page, workflowId, leave } = await aWriter();
  await writeFirst(page, "# one\n");
  await waitUntilSaved(page);
  await commit(page, "One");
  await writeFirst(page, "# two\n");
  await waitUntilSaved(page);
  await commit(page, "Two");
  await page.goto(`/workflows/${workflowId}/commits`);
  await page.getByRole("button", { name: /^Restore/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("# two").waitFor();
  await dialog.getByRole("button", { name: "Restore these files" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("listitem").nth(2).waitFor();
  await openFile(page, workflowId, "config.yaml");
  expect(await page.locator(".cm-line").first().innerText()).toBe("# one");
  await leave();
});
