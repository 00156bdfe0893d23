import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findGrave } from "../support/accessibility.ts";
import { openBrowser, readStyle, signIn, visit, waitUntil } from "../support/browser.ts";
import { aWriter, openFile, writeFirst } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("helping", { examples: ["hello"] });
}, 600_000);

afterAll(() => editor?.close());

test("config.yaml, while one completes a key, shows the whole help beside it; the find panel looks like the page", async () => {
  const { page, leave } = await aWriter(editor, "Helped");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("\n");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete").waitFor();
  const help = page.locator(".cm-completionInfo");
  await help.waitFor();
  const isSeen = `(() => {
    const info = document.querySelector(".cm-completionInfo");
    const { left, top, width, height } = info.getBoundingClientRect();
    return info.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  })()`;
  await waitUntil("the help is seen", () => page.evaluate<boolean>(isSeen));
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+f");
  const field = page.locator(".cm-search input[name=search]");
  await field.waitFor();
  expect(Number.parseFloat(await readStyle(field, "font-size"))).toBeGreaterThanOrEqual(12.5);
  expect(await readStyle(page.locator(".cm-search button[name=next]"), "border-top-left-radius")).toBe("6px");
  await page.getByRole("button", { name: "Next", exact: true }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

test("Ctrl+Enter, from within the code, opens the form beside it, asks for what is missing, runs what was written and keeps the values", async () => {
  const inputs = "inputs: { name: { type: string, required: true, label: Who to greet } }";
  const { workflowId } = await editor.publish({
    "config.yaml": `name: Tested\n${inputs}\ntriggers: { api: { enabled: true } }\n`,
    "main.py": 'def main(name):\n    print(f"Greeting {name}")\n    return {"greeting": f"Hello, {name}!"}\n',
  });
  const { page, leave } = await editor.enter();
  await openFile(page, workflowId, "main.py");
  await writeFirst(page, "# tested\n");
  await page.keyboard.press("Control+Enter");
  const pane = page.getByRole("region", { name: "Test", exact: true });
  await page.locator("input:focus").and(pane.getByLabel("Who to greet")).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.keyboard.insertText("Grace");
  await page.keyboard.press("Control+Enter");
  await pane.getByText("Success", { exact: true }).waitFor();
  await pane.getByText("Greeting Grace").waitFor();
  await pane.getByText("Hello, Grace!").first().waitFor();
  expect(new URL(page.url()).pathname).toBe(`/workflows/${workflowId}/code`);

  // Once more, with an error: its line is a link into the draft, and the values are still there.
  await writeFirst(page, "\n1 / 0\n");
  await page.keyboard.press("Control+Enter");
  await pane.getByText("Failed", { exact: true }).waitFor();
  const frame = pane.getByRole("link", { name: /File "\/app\/main.py", line 2/ }).first();
  await page.keyboard.press("Control+End");
  await frame.click();
  await page.locator(".cm-activeLine", { hasText: "1 / 0" }).waitFor();
  expect(new URL(page.url()).searchParams.get("commit")).toBeNull();
  expect(await pane.getByLabel("Who to greet").inputValue()).toBe("Grace");
  expect(await findGrave(page)).toEqual([]);
  await page.reload();
  await pane.waitFor();
  await leave();
});

test("an unused import, by the button at its mark or in the list, is removed, also after the text has moved", async () => {
  const { page, workflowId, leave } = await aWriter(editor, "Fixed");
  await openFile(page, workflowId, "main.py");
  const before = await page.locator(".cm-content").innerText();
  await writeFirst(page, "import zlib, os\nprint(os)\n");
  const problems = page.getByRole("region", { name: "Problems" });
  const mark = page.locator(".cm-lintRange-warning", { hasText: /^zlib$/ });
  await mark.hover();
  const fix = page.getByRole("button", { name: "Remove unused import: zlib" });
  const atMark = page.locator(".cm-tooltip").locator(fix);
  await atMark.waitFor();
  expect(await findGrave(page)).toEqual([]);
  // Above the first line are the buttons of the page.
  const [marked, said] = [await mark.boundingBox(), await page.locator(".cm-tooltip").boundingBox()];
  expect(said?.y).toBeGreaterThan(marked?.y ?? 0);
  await atMark.click();
  await page.locator(".cm-line", { hasText: /^import os$/ }).waitFor();
  await problems.waitFor({ state: "detached" });

  // Taken back as what one writes is; then a line more, and at once the fix.
  await page.locator(".cm-content").press("Control+z");
  await problems.locator(fix).waitFor();
  await writeFirst(page, "# above\n");
  await problems.locator(fix).click();
  await page.locator(".cm-line", { hasText: /^import os$/ }).waitFor();
  expect(await page.locator(".cm-content").innerText()).toBe(`# above\nimport os\nprint(os)\n${before}`);
  await problems.waitFor({ state: "detached" });
  await leave();
});

test("the palette, at a workflow, goes to its tabs, does what it says, and knows a run by its id", async () => {
  const { page, leave } = await editor.enter(`/workflows/${editor.examples["hello"]?.workflowId}/run`);
  const field = page.getByRole("combobox", { name: "Go to" });
  await page.getByRole("heading", { name: "Hello", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("sched hello");
  // The list of workflows may be on its way still.
  await page.getByRole("option", { name: /^Schedule of Hello/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/workflows\/wf_\w+\/schedule$/);
  await page.keyboard.press("Control+k");
  await field.fill("dark");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Colours: Dark" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("ex_06d1k7q2m8v3r5t9w0x4y6z8a1");
  await page.getByRole("option", { name: /^Run ex_06d1k7q2m8v3r5t9w0x4y6z8a1/ }).waitFor();
  await page.keyboard.press("Escape");

  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.keyboard.press("Control+k");
  await field.fill("copy the api key");
  await page.keyboard.press("Enter");
  await page.getByText("The API key is copied").waitFor();
  expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(editor.examples["hello"]?.apiKey);
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/code?file=main.py`);
  await page.locator(".cm-content").waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("run the draft");
  await page.keyboard.press("Enter");
  await page.getByRole("region", { name: "Test", exact: true }).getByText("Success", { exact: true }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("commit the draft");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Commit" }).waitFor();
  await leave();
});

test("texts, in the font of the service, stand where they stood before it came; a page without code does without that of code", async () => {
  const { page, leave } = await editor.enter();
  await page.addInitScript(`globalThis.moved = 0;
    new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) moved += value;
    }).observe({ type: "layout-shift", buffered: true });`);
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/run`);
  await page.getByRole("button", { name: "Run", exact: true }).waitFor();
  const families =
    'document.fonts.ready.then((all) => [...all].filter((it) => it.status === "loaded").map((it) => it.family))';
  expect(await page.evaluate<string[]>(families)).toEqual([expect.stringContaining("Geist Variable")]);
  expect(await page.evaluate<number>("moved")).toBeLessThan(0.1);
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}/api`);
  await page.getByLabel("Snippet for curl").waitFor();
  await waitUntil("the font of code is there", async () =>
    (await page.evaluate<string[]>(families)).some((family) => family.includes("Geist Mono")),
  );
  await leave();
});

test("the bar, the title and the tabs, with a scroll bar or without, stand at the same place on every page", async () => {
  const browser = await openBrowser({ hasScrollBars: true });
  const { page, leave } = await visit(browser, editor.service.ready);
  await signIn(page, editor.owner);
  await page.goto(`/workflows/${editor.examples["hello"]?.workflowId}`);
  const places: unknown[] = [];
  for (const [tab, hasBar] of [
    ["Code", false],
    ["Settings", true],
    ["Schedule", false],
  ] as const) {
    const tabs = page.getByRole("navigation", { name: "Parts of this workflow" });
    await tabs.getByRole("link", { name: tab, exact: true }).click();
    await page.waitForURL((url) => url.pathname.endsWith(`/${tab.toLowerCase()}`));
    const isScrolled = () => page.evaluate<boolean>("innerWidth > document.documentElement.clientWidth");
    await waitUntil(`${tab} has ${hasBar ? "a" : "no"} scroll bar`, async () => (await isScrolled()) === hasBar);
    const edges = "h1, #root header button, nav a, main [aria-label^=Parts]";
    const look = () =>
      page.evaluate<unknown>(
        `[...document.querySelectorAll("${edges}")].map((it) => [it.textContent, it.getBoundingClientRect().left, it.getBoundingClientRect().right])`,
      );
    places.push(await look());
    // No strip of another colour beside it.
    const end = "document.querySelector('header').getBoundingClientRect().right - document.documentElement.clientWidth";
    expect(await page.evaluate<number>(end)).toBe(0);
    if (!hasBar) continue;
    await page.getByRole("button", { name: "Delete workflow" }).click();
    await page.getByRole("dialog").waitFor();
    // The dialog takes the scroll bar away.
    expect(await isScrolled()).toBe(false);
    places.push(await look());
    expect(await page.evaluate<number>(end)).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  expect(places).toEqual(places.map(() => places[0]));
  await leave();
  await browser.close();
});

const SCRIPT = `"""Counts up."""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--top", type=int, default=3, help="How far")
for number in range(parser.parse_args().top):
    print("number", number)
`;

test("a script of one's own, chosen as a file, has its first result after five clicks and is read before anything is made", async () => {
  const { page, leave } = await editor.enter("/");
  await page.evaluate(`globalThis.clicks = 0; addEventListener("click", (event) => (clicks += event.isTrusted), true)`);
  await page.getByRole("button", { name: "New workflow" }).first().click();
  await page.getByRole("button", { name: "Bring your script" }).click();
  const dialog = page.getByRole("dialog", { name: "Bring your script" });
  await dialog.getByRole("button", { name: "Choose a .py file" }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  const chooser = page.waitForEvent("filechooser");
  await dialog.getByRole("button", { name: "Choose a .py file" }).click();
  await (await chooser).setFiles({ name: "count_up.py", mimeType: "text/x-python", buffer: Buffer.from(SCRIPT) });
  const config = dialog.getByRole("region", { name: "Found: config.yaml" });
  await config.getByText(/name: Count up[^]*arguments: argparse[^]*top:\s+type: integer/).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Open the code" }).click();
  const pane = page.getByRole("region", { name: "Test", exact: true });
  await pane.getByRole("button", { name: "Run draft" }).click();
  await pane.getByText("Success", { exact: true }).waitFor();
  await pane.getByText("number 2", { exact: true }).waitFor();
  await page.getByRole("heading", { name: "Count up", level: 1 }).waitFor();
  expect(await page.evaluate<number>("clicks")).toBe(5);
  await leave();
});

test("a script, pasted with a mistake, is refused with its line; corrected, it is committed and opens its form", async () => {
  const { page, expectProblems, leave } = await editor.enter("/");
  expectProblems(/status of 400/);
  await page.getByRole("button", { name: "New workflow" }).first().click();
  await page.getByRole("button", { name: "Bring your script" }).click();
  const dialog = page.getByRole("dialog", { name: "Bring your script" });
  const field = dialog.getByRole("textbox", { name: "Or paste it" });
  await field.focus();
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData("text", "def main(name: str:\\n    pass\\n");
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }`);
  await dialog.getByText("script.py:1:").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await field.fill("def main(name: str = 'Ada'):\n    return name\n");
  await dialog.getByRole("button", { name: "Read it" }).click();
  await dialog.getByRole("button", { name: "Commit" }).click();
  await page.waitForURL(/\/workflows\/wf_\w+\/run$/);
  await page.getByRole("heading", { name: "Script", level: 1 }).waitFor();
  expect(await page.getByLabel("name").inputValue()).toBe("Ada");
  await leave();
});

test("a menu of the bar, pressed while it is on its way, opens when the button is let go", async () => {
  const { page, leave } = await editor.enter("/");
  let arrive = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  await page.route(/\/bar-menus-/, async (route) => {
    await held;
    await route.continue();
  });
  const button = page.getByRole("button", { name: /^Colours/ });
  await button.hover();
  await page.mouse.down();
  const come = page.waitForResponse(/\/bar-menus-/);
  arrive();
  const part = (await come).url();
  const drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
  await page.evaluate(`import(${JSON.stringify(part)}).then(() => ${drawn})`);
  await page.mouse.up();
  await page.getByRole("menuitem", { name: "Dark" }).waitFor();
  await leave();
});

test("the question mark shows the keys, but is a character in the code; the menu of the user shows them, too", async () => {
  const { page, workflowId, leave } = await aWriter(editor, "Keyed");
  const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await openFile(page, workflowId, "main.py");
  await writeFirst(page, "# why?\n");
  expect(await dialog.count()).toBe(0);
  await page.goto("/");
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  await page.keyboard.press("Shift+?");
  await dialog.getByText("Commit", { exact: true }).waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^Signed in as/ }).click();
  await page.getByRole("menuitem", { name: "Keyboard shortcuts" }).click();
  await dialog.waitFor();
  await leave();
});
