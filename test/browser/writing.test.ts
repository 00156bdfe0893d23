import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aMember, aWriter, commit, createWorkflow, openFile, waitUntilSaved, writeFirst } from "../support/desk.ts";
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
