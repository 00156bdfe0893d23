import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findGrave } from "../support/accessibility.ts";
import { fillSignIn, ownerOf, signIn } from "../support/browser.ts";
import { aFolder, treadle } from "../support/command-line.ts";
import { openFile } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("running", { examples: ["hello"] });
}, 600_000);

afterAll(() => editor?.close());

test("the editor, signed in to with the password of the first start, lists the example and runs it by its form", async () => {
  const { page, leave } = await editor.visit();
  await signIn(page, ownerOf(editor.service.ready));
  await page.getByRole("link", { name: "Hello" }).click();
  await page.waitForURL(/\/workflows\/wf_\w+\/overview$/);
  await page.getByRole("link", { name: "Go to the form" }).click();

  await page.getByLabel("Who to greet").fill("Ada");
  await page.getByLabel("How often").fill("3");
  await page.evaluate(`
    globalThis.titles = [];
    new MutationObserver(() => titles.push(document.title)).observe(document.querySelector("title"), { childList: true });`);
  await page.getByRole("button", { name: "Run", exact: true }).click();

  await page.waitForURL(/\/executions\/ex_[a-z0-9]+$/);
  const { pathname } = new URL(page.url());
  await page.getByRole("banner").waitFor();
  await page.getByText("Success", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: /^greeting/ }).waitFor();
  await page.getByText('"Hello, Ada!').first().waitFor();
  const titles = await page.evaluate<string[]>("titles");
  expect(titles.at(-1)).toBe("Success · Hello · Treadle");
  expect(titles.filter((title) => title.includes("undefined"))).toEqual([]);

  // Which run it is, and the very files that it has run.
  const executionId = pathname.slice("/executions/".length);
  await page.getByText(executionId, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Copy the run's id" }).waitFor();
  await page.locator("dl").getByRole("link").click();
  await page.waitForURL(/\/code\?commit=[0-9a-f]{40}$/);
  await page.getByRole("treeitem", { name: "README.md" }).click();
  await page.getByText(/^As it is in commit [0-9a-f]{7}$/).waitFor();
  expect(await page.getByRole("textbox", { name: "README.md" }).getAttribute("contenteditable")).toBe("false");
  await page.goto(pathname);

  await page.getByText("Success", { exact: true }).first().waitFor();
  expect(new URL(page.url()).pathname).toBe(pathname);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: /^Download greeting/ }).click();
  expect((await download).suggestedFilename()).toBe("greeting.json");
  await leave();
});

test("an address that no page has, opened by somebody who is signed in, keeps the bar and leads back", async () => {
  const { page, expectProblems, leave } = await editor.enter();
  expectProblems(/status of 404/);
  await page.goto("/nothing/is/here");
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.getByRole("banner").getByRole("link", { name: "Runs" }).waitFor();
  await page.getByRole("link", { name: "To the workflows" }).click();
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await leave();
});

test("an empty workflow, made by the dialog, has the name it was given and opens code that runs", async () => {
  const { page, leave } = await editor.enter("/");
  await page.getByRole("button", { name: "New workflow" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("My report: #1");
  await page.getByRole("button", { name: "Create" }).click();
  await page.waitForURL(/\/workflows\/wf_\w+\/code\?file=main.py$/);
  await page.getByRole("textbox", { name: "main.py" }).waitFor();
  expect(await page.getByRole("region", { name: "Problems" }).count()).toBe(0);
  // The code and its window end together.
  expect(await page.evaluate<number>("document.documentElement.scrollHeight - innerHeight")).toBeLessThanOrEqual(0);
  // One key from the new workflow to its first result, with the skeleton's own value.
  await page.keyboard.press("Control+Enter");
  const pane = page.getByRole("region", { name: "Test", exact: true });
  await pane.getByText("Success", { exact: true }).waitFor();
  await pane.getByText("Hello, World!", { exact: true }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  expect(new URL(page.url()).pathname).toMatch(/\/code$/);
  await page.getByRole("treeitem", { name: "config.yaml" }).click();
  await page.locator(".cm-line", { hasText: 'name: "My report: #1"' }).waitFor();
  await leave();
});

test("a workflow, renamed, duplicated and deleted in its settings, is so in the list", async () => {
  const { workflowId } = await editor.publish({
    "config.yaml": "name: Settled # by its author\n",
    "main.py": "def main():\n    pass\n",
  });
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/settings`);
  await page.getByLabel("Name of the workflow").fill("Moved");
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("heading", { name: "Moved", level: 1 }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.getByText("config.yaml calls it Settled.").waitFor();
  await page.getByRole("button", { name: "Write the new name into my draft" }).click();
  await page.locator(".cm-line", { hasText: "name: Moved # by its author" }).waitFor();

  await page.getByRole("link", { name: "Settings", exact: true }).click();
  await page.getByRole("button", { name: "Duplicate" }).click();
  await page.getByRole("heading", { name: "Copy of Moved", level: 1 }).waitFor();
  await page.locator(".cm-line", { hasText: "name: Copy of Moved # by its author" }).waitFor();

  await page.goto(`/workflows/${workflowId}/settings`);
  await page.getByRole("button", { name: "Delete workflow" }).click();
  const dialog = page.getByRole("dialog");
  const confirm = dialog.getByRole("button", { name: "Delete workflow" });
  await dialog.getByLabel("Type Moved to confirm").fill("Mov");
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel("Type Moved to confirm").fill("Moved");
  expect(await findGrave(page)).toEqual([]);
  await confirm.click();
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Copy of Moved" }).waitFor();
  await page.getByRole("link", { name: "Moved", exact: true }).waitFor({ state: "detached" });
  await leave();
});

test("the list, opened by somebody who is signed in, asks for its workflows at once, and not who they are", async () => {
  const { page, leave } = await editor.enter();
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  await page.goto("/");
  await page.getByRole("link", { name: "Hello" }).waitFor();
  const calls = asked.filter((path) => path.startsWith("/api/"));
  expect(calls[0]).toBe("/api/workflows");
  expect(calls.filter((path) => path === "/api/session")).toEqual([]);
  // The page named all of its parts: none of them had to wait for another to ask for it.
  const text = await (await page.request.get("/")).text();
  const named = [...text.matchAll(/"(\/assets\/[^"]+\.(?:js|css))"/g)].map(([, path]) => String(path));
  const before = asked.slice(0, asked.indexOf("/api/workflows")).filter((path) => /\.(?:js|css)$/.test(path));
  expect(before.toSorted()).toEqual(named.toSorted());
  expect(named.length).toBeGreaterThan(2);
  await leave();
});

test("the form, filled in wrongly, says so at each control and sends nothing", async () => {
  const { page, leave } = await editor.enter();
  const sent: string[] = [];
  page.on("request", (request) => void (request.method() === "POST" && sent.push(request.url())));
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/run`);
  await page.getByLabel("How often").fill("500");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Must be at most 100, not 500.").waitFor();
  expect(await page.getByLabel("How often").getAttribute("aria-invalid")).toBe("true");
  expect(sent).toEqual([]);
  await leave();
});

test("a page, opened by its address by somebody who is not signed in, is shown after the sign-in", async () => {
  const { page, leave } = await editor.visit();
  await page.goto("/account/tokens");
  await fillSignIn(page, editor.owner);
  await page.getByRole("heading", { name: "Access tokens" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/account/tokens");
  await leave();
});

test("signing in, with a wrong password, says so where the form is", async () => {
  const { page, expectProblems, leave } = await editor.visit();
  expectProblems(/401 .*\/api\/session/);
  await page.goto("/");
  await fillSignIn(page, { ...editor.owner, password: "wrong" });
  await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
  await leave();
});

test("a link to the sign-in that names another website, after the sign-in, leads home instead", async () => {
  const { page, leave } = await editor.visit();
  await page.goto("/sign-in?from=//example.com/");
  await fillSignIn(page, editor.owner);
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  expect(new URL(page.url()).origin).toBe(editor.service.ready.url);
  await leave();
});

test("commits, of a history, are compared two by two, say which runs used them, and an earlier one is restored", async () => {
  const config = "name: History\ntriggers:\n  api: { enabled: true }\n";
  const programOf = (word: string) => `def main():\n    return {"word": "${word}"}\n`;
  let workflowId = "";
  for (const word of ["one", "two", "three"]) {
    const given = workflowId === "" ? ["--account", editor.account] : ["--workflow", workflowId];
    const files = await aFolder({ "config.yaml": config, "main.py": programOf(word) });
    const published = await treadle(editor.dataDir, ["publish", files, "-m", `Say ${word}`, ...given, "--json"]);
    workflowId ||= String(published.json()["workflowId"]);
    if (word !== "two") continue;
    expect((await treadle(editor.dataDir, ["run", workflowId, "--json"])).code).toBe(0);
  }
  const history = `/workflows/${workflowId}/commits`;
  const { page, leave } = await editor.enter(history);
  const lines = page.getByRole("region", { name: "History" }).getByRole("listitem");
  await lines.nth(2).waitFor();
  for (const word of ["three", "one"])
    await lines
      .filter({ hasText: `Say ${word}` })
      .getByRole("checkbox")
      .check();
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  const changed = page.getByRole("region", { name: "main.py, changed" });
  // The older is the one before, whichever was chosen first.
  await changed.locator(".cm-deletedChunk", { hasText: '"one"' }).waitFor();
  await changed.locator(".cm-changedLine", { hasText: '"three"' }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.getByRole("button", { name: "Close the comparison" }).click();
  await changed.waitFor({ state: "detached" });

  await lines.filter({ hasText: "Say two" }).getByRole("link", { name: "1 run" }).click();
  await page.waitForURL(/\/runs\?commit=[0-9a-f]{40}$/);
  await page.getByRole("row").nth(1).waitFor();
  expect(await page.getByRole("row").count()).toBe(2);

  await page.goto(history);
  await lines
    .filter({ hasText: "Say one" })
    .getByRole("button", { name: /^Restore/ })
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.locator(".cm-changedLine", { hasText: '"one"' }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Restore these files" }).click();
  await dialog.waitFor({ state: "detached" });
  await lines.nth(3).waitFor();
  await lines.first().getByText("Latest").waitFor();
  expect(await page.getByText("Latest", { exact: true }).count()).toBe(1);
  await openFile(page, workflowId, "main.py");
  expect(await page.locator(".cm-content").innerText()).toContain('"one"');
  await leave();
});
