import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { waitUntil } from "../support/browser.ts";
import { aWriter, openFile, waitForSuccess, waitUntilSaved, writeFirst } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;
let made = 0;

beforeAll(async () => {
  editor = await openEditor("keys", { examples: ["hello"] });
}, 600_000);

afterAll(() => editor?.close());

/** Somebody at the code of a new workflow of their own, made of the example. */
const aNewWriter = () => aWriter(editor, `Written ${(made += 1)}`);

/** What has the focus, in a word: its name, or what it is. */
function findFocus(page: Page): Promise<string> {
  return page.evaluate<string>(
    `(() => {
      const here = document.activeElement;
      return here.getAttribute("aria-label") ?? (here.id || here.textContent.trim() || here.tagName);
    })()`,
  );
}

/** Waits until something has the focus: dialogs take it and give it back a moment later. */
async function waitForFocus(page: Page, name: string | RegExp): Promise<void> {
  const isThere = (focus: string): boolean => (typeof name === "string" ? focus === name : name.test(focus));
  for (const deadline = Date.now() + 60_000; !isThere(await findFocus(page)); await page.waitForTimeout(50))
    if (Date.now() > deadline) throw new Error(`The focus is on ${await findFocus(page)}, not on ${String(name)}.`);
}

test("the palette, opened by its keys, finds a page and a workflow by letters of their names and goes there", async () => {
  const { page, leave } = await editor.enter("/");
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Go to" });
  await field.waitFor();
  expect(await findGrave(page)).toEqual([]);
  await field.pressSequentially("tok acc");
  await page.getByRole("option", { name: "Access tokens" }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Access tokens" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/account/tokens");
  // What had the focus went with the page before.
  await waitForFocus(page, "main");

  await page.keyboard.press("Control+k");
  await field.pressSequentially("runs");
  await page.keyboard.press("ArrowDown");
  const chosen = page.getByRole("listbox", { name: "Found" }).getByRole("option", { selected: true });
  expect(await chosen.innerText()).toContain("Failed runs");
  await page.keyboard.press("ArrowUp");
  expect(await chosen.innerText()).not.toContain("Failed runs");
  await field.fill("hel");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/workflows\/wf_\w+\/overview$/);

  await page.keyboard.press("Control+k");
  await field.fill("nothing is called this");
  await page.getByText("No name has these letters.").waitFor();
  await page.keyboard.press("Control+k");
  await field.waitFor({ state: "detached" });
  await leave();
});

test("Tab, from the top of the page, leads past the bar, or by its first stop to what the page is about", async () => {
  const { page, leave } = await editor.enter("/");
  await page.getByRole("link", { name: "Hello" }).first().waitFor();
  const stops: string[] = [];
  for (let stop = 0; stop < 10; stop += 1) {
    await page.keyboard.press("Tab");
    stops.push(await findFocus(page));
  }
  expect(stops).toEqual(
    [
      ["Skip to the page", "Treadle, workflows", "Workflows", "Runs", "Account"],
      [expect.stringContaining("Search"), "Colours: As the system", expect.stringContaining("Signed in as")],
      ["Search workflows", "New workflow"],
    ].flat(),
  );
  await page.goto("/");
  await page.getByRole("link", { name: "Hello" }).first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await waitForFocus(page, "main");
  await page.keyboard.press("Tab");
  expect(await findFocus(page)).toBe("Search workflows");

  // On to another page: it is said which, and keys begin in it.
  await page.getByRole("link", { name: "Hello" }).first().press("Enter");
  await page.getByRole("heading", { name: "Hello", level: 1 }).waitFor();
  await waitForFocus(page, "main");
  await page.getByRole("status", { name: "News" }).getByText("Overview · Hello", { exact: true }).waitFor();
  await page.getByRole("link", { name: "API Trigger", exact: true }).press("Enter");
  await page.getByRole("status", { name: "News" }).getByText("API Trigger · Hello", { exact: true }).waitFor();
  expect(await findFocus(page)).toBe("API Trigger");
  await leave();
});

/** What gets the focus outside of the dialog that is open, going by Tab through all of it and once around, either way. */
async function findEscapes(page: Page): Promise<string[]> {
  const inside = "document.activeElement.closest('[role=dialog]') !== null";
  await waitUntil("the dialog has the focus", () => page.evaluate<boolean>(inside));
  const count = await page.evaluate<number>(
    "document.querySelectorAll('[role=dialog] :is(button, input, textarea, select, a, [tabindex=\"0\"])').length",
  );
  const found: string[] = [];
  for (const key of ["Tab", "Shift+Tab"]) {
    for (let stop = 0; stop <= count; stop += 1) {
      await page.keyboard.press(key);
      if (!(await page.evaluate<boolean>(inside))) found.push(`${key}: ${await findFocus(page)}`);
    }
  }
  return found;
}

test("Escape, in any dialog, closes it which keeps the focus until then, and gives it back to where it was", async () => {
  const { page, workflowId, leave } = await aNewWriter();
  const dialog = page.getByRole("dialog");
  const closeBy = async (name: string | RegExp): Promise<void> => {
    await dialog.waitFor();
    expect(await findEscapes(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await waitForFocus(page, name);
  };
  // From within the code, where Ctrl+K is the editor's own in some systems.
  await writeFirst(page, "# kept\n");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).waitFor();
  await closeBy("config.yaml");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("textbox", { name: /What changes/ }).waitFor();
  await waitForFocus(page, /^mantine-/);
  await closeBy("config.yaml");
  expect(await page.locator(".cm-line").first().innerText()).toBe("# kept");

  const row = page.getByRole("treeitem", { name: "README.md" });
  await row.press("Delete");
  await closeBy("README.md");
  await row.waitFor();

  await page.goto("/");
  await page.getByRole("button", { name: "New workflow" }).first().press("Enter");
  await page.getByRole("textbox", { name: "Name" }).waitFor();
  await closeBy("New workflow");
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/api`);
  // A key does not wait for the button to be enabled, which it is when the key is known.
  await page.locator("button:enabled", { hasText: "Regenerate" }).press("Enter");
  await closeBy("Regenerate");
  expect(workflowId).toMatch(/^wf_/);
  await leave();
});

test("Ctrl+S, wherever the cursor is, saves at once; Ctrl+Enter opens the form of the draft where it has no room beside the code", async () => {
  const { page, workflowId, leave } = await aNewWriter();
  await openFile(page, workflowId, "main.py");
  const saves: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "PATCH" && request.url().endsWith("/draft")) saves.push(request.postData() ?? "");
  });
  await writeFirst(page, "# by keys\n");
  await page.keyboard.press("Control+s");
  await waitUntilSaved(page);
  expect(saves).toHaveLength(1);
  // The browser's own dialog would have taken the keyboard.
  await page.keyboard.insertText("# more\n");
  await page.setViewportSize({ width: 820, height: 800 });
  await page.getByRole("button", { name: "Test beside the code" }).waitFor({ state: "detached" });
  await page.keyboard.press("Control+Enter");
  await page.getByRole("heading", { name: "Run your draft" }).waitFor();
  expect(saves).toHaveLength(2);
  await page.getByLabel("Who to greet").fill("Ada");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/\/executions\/ex_[a-z0-9]+$/);
  await waitForSuccess(page);
  await page.getByText('"Hello, Ada!').first().waitFor();
  await leave();
});
