import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { waitUntil } from "../support/browser.ts";
import {
  aMember,
  aWriter,
  commit,
  createWorkflow,
  openFile,
  waitForSuccess,
  waitUntilSaved,
  writeFirst,
} from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;
let made = 0;

beforeAll(async () => {
  editor = await openEditor("writing", { examples: ["hello"] });
}, 600_000);

afterAll(() => editor?.close());

/** Somebody at the code of a new workflow of their own, made of the example. */
const aNewWriter = () => aWriter(editor, `Written ${(made += 1)}`);

test("a config.yaml with an error, while it is written, is underlined at its line, and can be committed when it is right", async () => {
  const { page, leave } = await editor.enter();
  const workflowId = await createWorkflow(page, "Written from the first page");
  await openFile(page, workflowId, "config.yaml");
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

test("an unknown name and an unused import, while they are written, are marked with their rule, and refuse no commit", async () => {
  const { page, workflowId, leave } = await aNewWriter();
  await openFile(page, workflowId, "main.py");
  await writeFirst(page, "import zlib\nprint(helo)\n");
  await page.locator(".cm-lintRange-warning", { hasText: /^helo$/ }).waitFor();
  await page.locator(".cm-lintRange-warning", { hasText: /^zlib$/ }).waitFor();
  const problems = page.getByRole("region", { name: "Problems" });
  await problems.getByText("2 warnings").waitFor();
  await problems.getByText("Warning: Undefined name helo (Ruff F821).").waitFor();
  // What was found stays and moves with the text while more is written.
  await writeFirst(page, "# above\n");
  expect(await page.locator(".cm-lintRange-warning").allInnerTexts()).toEqual(["zlib", "helo"]);
  await problems.getByText("main.py:3:7").waitFor();
  await problems.getByRole("button", { name: /main\.py:3:7/ }).click();
  for (const _key of "helo") await page.keyboard.press("Delete");
  await page.keyboard.insertText("zlib");
  await problems.waitFor({ state: "detached" });
  await writeFirst(page, "import zlib\n");
  await problems.getByText("1 warning", { exact: true }).waitFor();
  await commit(page, "Unused all the same");
  await leave();
});

test("a file whose lines end as on Windows, warned of and changed, is marked at its words and keeps its line ends", async () => {
  const text = ["x = 1", "y = 2", "print(helo)", ""].join("\r\n");
  const { workflowId } = await editor.publish({ "main.py": text });
  const { page, leave } = await editor.enter();
  await openFile(page, workflowId, "main.py");
  await page.locator(".cm-line", { hasText: "print(helo)" }).waitFor();
  await writeFirst(page, "# mine\n");
  await page.locator(".cm-lintRange-warning").waitFor();
  expect(await page.locator(".cm-lintRange-warning").allInnerTexts()).toEqual(["helo"]);
  await waitUntilSaved(page);
  const { files } = await editor.ask<{ files: { path: string; text: string }[] }>(
    "GET",
    `/api/workflows/${workflowId}/draft`,
  );
  expect(files.find(({ path }) => path === "main.py")?.text).toBe(`# mine\r\n${text}`);
  await leave();
});

test("a draft, after the page was loaded again, is there as it was written", async () => {
  const { page, workflowId, leave } = await aNewWriter();
  await writeFirst(page, "# kept\n");
  await waitUntilSaved(page);
  await openFile(page, workflowId, "config.yaml");
  await page.locator(".cm-line", { hasText: "# kept" }).waitFor();
  await leave();
});

test("a file, renamed and another deleted by keys, is so after the page was loaded again", async () => {
  const { page, workflowId, leave } = await aNewWriter();
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
  const { page, workflowId, context, expectProblems, leave } = await aNewWriter();
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
  const owner = await aNewWriter();
  const { page, workflowId } = owner;
  await writeFirst(page, "# first\n");
  await waitUntilSaved(page);
  await commit(page, "First");

  const member = await aMember(editor, `m${made}`);
  await openFile(member.page, workflowId, "main.py");
  await writeFirst(member.page, "# theirs\n");
  await waitUntilSaved(member.page);

  await openFile(page, workflowId, "config.yaml");
  await writeFirst(page, "# second\n");
  await waitUntilSaved(page);
  await commit(page, "Second");

  await openFile(member.page, workflowId, "main.py");
  const notice = member.page.getByRole("alert").filter({ hasText: "was committed after your draft began" });
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
  const { page, workflowId, leave } = await aNewWriter();
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
