// What somebody does who writes a workflow in the editor.
import type { Page } from "playwright-core";
import type { Visit } from "./browser.ts";
import type { Editor } from "./editor.ts";

/** The owner at the code of a new workflow of their own, made of the example. */
export async function aWriter(editor: Editor, name: string): Promise<Visit & { workflowId: string }> {
  const made = { name, templateId: "hello" };
  const { workflowId } = await editor.ask<{ workflowId: string }>("POST", "/api/workflows", made);
  const visitor = await editor.enter();
  await openFile(visitor.page, workflowId, "config.yaml");
  return { ...visitor, workflowId };
}

/** Makes a workflow of the example, by the dialog of the first page. */
export async function createWorkflow(page: Page, name: string): Promise<string> {
  await page.goto("/");
  await page.getByRole("button", { name: "New workflow" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("radio", { name: "Hello" }).check();
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/workflows\/wf_\w+/);
  return /wf_\w+/.exec(page.url())?.[0] as string;
}

/** Somebody else of the account, who joins by an invitation. */
export async function aMember(editor: Editor, name: string): Promise<Visit> {
  const invited = { email: editor.emailOf(name), role: "member" };
  const { url } = await editor.ask<{ url: string }>("POST", "/api/invitations", invited);
  const visitor = await editor.visit();
  await visitor.page.goto(url);
  await join(visitor.page);
  return visitor;
}

/** Chooses a password on the page of an invitation, and sees the first page. */
export async function join(page: Page, password = "a long enough password"): Promise<void> {
  await page.locator("input[name=password]").fill(password);
  await page.getByRole("button", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
}

export async function openFile(page: Page, workflowId: string, file: string): Promise<void> {
  await page.goto(`/workflows/${workflowId}/code?file=${file}`);
  await page.getByRole("textbox", { name: file, exact: true }).waitFor();
}

/** Puts a text in at the beginning of the file that is open. */
export async function writeFirst(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText(text);
}

/** Puts a text in the place of all that the open file has. */
export async function writeAll(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

export async function waitUntilSaved(page: Page): Promise<void> {
  await page
    .getByRole("main")
    .getByText(/^Draft saved/)
    .waitFor();
}

/** Opens the dialog by its keys, says what changes, and sends it by its keys. */
export async function sendCommit(page: Page, message: string): Promise<void> {
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("textbox", { name: /What changes/ }).fill(message);
  await page
    .getByRole("dialog")
    .getByRole("button", { name: "Commit", exact: true })
    .and(page.locator(":enabled"))
    .waitFor();
  await page.getByRole("textbox", { name: /What changes/ }).press("Control+Enter");
}

/** Commits the draft, and waits until that is done. */
export async function commit(page: Page, message: string): Promise<void> {
  await sendCommit(page, message);
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

/** Presses the button of the form and is on the page of the execution that this began; answers its id. */
export async function runForm(page: Page, words = "Run"): Promise<string> {
  await page.getByRole("button", { name: words, exact: true }).click();
  await page.waitForURL(/\/executions\/ex_[a-z0-9]+$/);
  // The page before may show a success of an earlier one.
  await page.getByRole("heading", { name: /^Run of/ }).waitFor();
  return /ex_[a-z0-9]+$/.exec(page.url())?.[0] as string;
}

export async function waitForSuccess(page: Page): Promise<void> {
  await page.getByText("Success", { exact: true }).first().waitFor();
}
