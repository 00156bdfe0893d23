import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { findUv, onlyFrom } from "../environments/machine.ts";
import { anIndexOfSources, aSource } from "../environments/source-index.ts";
import { findGrave } from "../support/accessibility.ts";
import { waitUntil } from "../support/browser.ts";
import { aWriter, commit, openFile, sendCommit, waitUntilSaved, writeAll, writeFirst } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

/** What a package says whose build takes longer than an answer may, and fails in the end. */
const CHATTER = `
import time
for line in range(1, 301):
    print("compiling part", line, flush=True)
    time.sleep(0.012)
raise RuntimeError("the compiler is missing")
`;

/** What a package says whose build is soon done. */
const TALK = 'print("\\n".join(f"folding part {part}" for part in range(1, 61)), flush=True)';

let editor: Editor;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-dropped-"));
  const index = anIndexOfSources([aSource("chatty", { code: CHATTER }), aSource("talker", { code: TALK })]);
  // A uv that is there already: this service could install none, since its index has none.
  const env = { ...onlyFrom(index), PATH: `${dirname(findUv().path)}:${process.env.PATH}` };
  editor = await openEditor("committing", { env });
}, 600_000);

afterAll(async () => {
  await editor?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A folder of the reader's own, as it may lie on their desk. */
async function aProject(name: string, files: Record<string, string | Buffer>): Promise<string> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name, path)), { recursive: true });
    await writeFile(join(folder, name, path), content);
  }
  return join(folder, name);
}

/** Drags something of the reader's machine onto a place of the page and lets go. */
async function drop(page: Page, path: string, place: Locator): Promise<void> {
  const box = await place.boundingBox();
  if (box === null) throw new Error("The place is not in sight.");
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  const at = { x: box.x + box.width / 2, y: box.y + box.height - 8, data };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, ...at });
  await session.detach();
}

const listNames = async (page: Page): Promise<string[]> =>
  (await page.getByRole("treeitem").allInnerTexts()).toSorted();

test("a folder, dragged into the files, is there with what is in it, can be changed there, and stays", async () => {
  const { page, workflowId, leave } = await aWriter(editor, "Dragged in");
  const project = await aProject("shop", {
    "orders.py": "ORDERS = []\n",
    "tax/rates.py": "RATE = 0.19\n",
    "tax/rates.bin": Buffer.from([0, 1, 2]),
    "tax/__pycache__/rates.pyc": Buffer.from([3]),
  });
  await drop(page, project, page.getByRole("tree", { name: "Files" }));
  await page.getByRole("treeitem", { name: "rates.py" }).click();
  await page.locator(".cm-line", { hasText: "RATE = 0.19" }).waitFor();
  await waitUntilSaved(page);
  const dropped = ["README.md", "config.yaml", "main.py", "orders.py", "rates.bin", "rates.py", "shop", "tax"];
  expect(await listNames(page)).toEqual(dropped);
  expect(await findGrave(page)).toEqual([]);

  // A file on a folder goes into it; one of the same name is replaced.
  await drop(
    page,
    join(await aProject("other", { "rates.py": "RATE = 0.2\n" }), "rates.py"),
    page.getByRole("treeitem", { name: "tax" }),
  );
  await page.locator(".cm-line", { hasText: "RATE = 0.2" }).waitFor();
  await page.getByRole("treeitem", { name: "shop" }).press("F2");
  await page.getByRole("textbox", { name: "New name of shop" }).fill("store");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: "store" }).waitFor();
  await page.getByRole("button", { name: "New file" }).click();
  await page.getByRole("textbox", { name: "Name of the new file" }).fill("notes/todo.txt");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "notes/todo.txt" }).click();
  await page.keyboard.insertText("later\n");
  await page
    .locator("input[aria-label='Folder to upload']")
    .setInputFiles(await aProject("more", { "a.py": "A = 1\n" }));
  await page.locator(".cm-line", { hasText: "A = 1" }).waitFor();
  await waitUntilSaved(page);
  await page.getByRole("treeitem", { name: "orders.py" }).press("Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("treeitem", { name: "orders.py" }).waitFor({ state: "detached" });
  await page.keyboard.press("Control+s");
  await waitUntilSaved(page);

  await openFile(page, workflowId, "store/tax/rates.py");
  expect(await page.locator(".cm-line").first().innerText()).toBe("RATE = 0.2");
  const draft = await page.request.get(`/api/workflows/${workflowId}/draft`);
  const { files } = (await draft.json()) as { files: { path: string; text: string | null }[] };
  const kept = Object.fromEntries(files.map(({ path, text }) => [path, text]));
  expect(Object.keys(kept).toSorted()).toEqual(
    [
      ["README.md", "config.yaml", "main.py", "notes/more/a.py", "notes/todo.txt"],
      ["store/tax/rates.bin", "store/tax/rates.py"],
    ].flat(),
  );
  expect(kept).toMatchObject({ "notes/todo.txt": "later\n", "store/tax/rates.bin": null });
  await leave();
});

/** Where in a text that scrolls somebody is: at its end, or how far from its beginning. */
async function findPlace(log: Locator): Promise<"end" | "beginning" | "between"> {
  const [top, rest] = await log.evaluate((box): [number, number] => [
    box.scrollTop,
    box.scrollHeight - box.clientHeight - box.scrollTop,
  ]);
  if (rest <= 8) return "end";
  return top === 0 ? "beginning" : "between";
}

test("a build, which talks a lot and fails, is followed, lets its reader scroll back, and leaves the draft as it was", async () => {
  const { page, workflowId, expectProblems, leave } = await aWriter(editor, "Not to be built");
  await writeFirst(page, "build: source\n");
  await page.getByRole("button", { name: "New file" }).click();
  await page.getByRole("textbox", { name: "Name of the new file" }).fill("requirements.txt");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "requirements.txt" }).click();
  await page.keyboard.insertText("chatty==1.0\n");
  await waitUntilSaved(page);
  const build = page.getByRole("region", { name: "Build" });
  const log = build.getByLabel("What the build said");
  await sendCommit(page, "With packages");
  await build.getByText("Building the packages").waitFor();
  await log.getByText("compiling part 40").waitFor();
  expect(await findPlace(log)).toBe("end");
  // Whoever reads what was said is left there.
  await log.press("Home");
  await build.getByRole("alert").waitFor();
  await log.getByText("the compiler is missing").waitFor();
  // The browser moves there by and by.
  await waitUntil("the log is at its beginning", async () => (await findPlace(log)) === "beginning");
  await build.getByRole("button", { name: "To the end" }).click();
  await build.getByRole("button", { name: "To the end" }).waitFor({ state: "detached" });
  expect(await findPlace(log)).toBe("end");
  await page.getByRole("dialog").getByText("requirements.txt:1:1").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.keyboard.press("Escape");

  // What is not to be had is said by whoever looked for it, at once.
  expectProblems(/status of 400/);
  await writeAll(page, "nobody-has-this==3.1\n");
  await waitUntilSaved(page);
  await sendCommit(page, "With another package");
  await build.getByRole("alert").waitFor();
  await page
    .getByRole("dialog")
    .getByText(/nobody-has-this/)
    .first()
    .waitFor();
  await page.keyboard.press("Escape");
  await openFile(page, workflowId, "requirements.txt");
  expect(await page.locator(".cm-line").first().innerText()).toBe("nobody-has-this==3.1");
  await page.goto(`/workflows/${workflowId}/commits`);
  await page.getByText("Nothing committed yet").waitFor();
  await leave();
});

test("a commit, looked at later, says what building its packages said, that it needs none, or that this is not to be had", async () => {
  const { page, workflowId, expectProblems, leave } = await aWriter(editor, "Built");
  await commit(page, "Without packages");
  await writeFirst(page, "build: source\n");
  await page.getByRole("button", { name: "New file" }).click();
  await page.getByRole("textbox", { name: "Name of the new file" }).fill("requirements.txt");
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "requirements.txt" }).click();
  await page.keyboard.insertText("talker==1.0\n");
  await waitUntilSaved(page);
  await commit(page, "With a package");

  const route = "**/build-log";
  let answer = (): void => undefined;
  const asked = new Promise<void>((resolve) => (answer = resolve));
  await page.route(route, async (call) => {
    await asked;
    await call.continue();
  });
  await page.goto(`/workflows/${workflowId}/commits`);
  await page.getByRole("link", { name: "With a package" }).click();
  await page.getByRole("status", { name: "The build log is loading" }).waitFor();
  answer();
  // It is long, and nobody has asked for it yet.
  const head = page.getByRole("button", { name: /^Build log/ });
  expect(await head.getAttribute("aria-expanded")).toBe("false");
  await head.click();
  const log = page.getByRole("region", { name: "Build log" });
  await log.getByText("folding part 60").waitFor();
  await log.getByRole("searchbox", { name: "Search the log" }).fill("folding part 7");
  await log.locator("mark", { hasText: "folding part 7" }).waitFor();
  expect(await findGrave(page)).toEqual([]);

  await page.getByRole("link", { name: "Without packages" }).click();
  await page.getByText("It needs none, so nothing was built for it.").waitFor();
  await page.unroute(route);

  expectProblems(/status of 403/);
  await page.route(route, (call) => call.fulfill({ status: 403, json: { error: "Forbidden", message: "Not today." } }));
  await page.reload();
  await page.getByRole("alert").filter({ hasText: "Not today." }).waitFor();
  await page.unroute(route);
  await page.route(route, (call) => call.fulfill({ json: { environment: "of old", log: null } }));
  await page.getByRole("alert").getByRole("button", { name: "Try again" }).click();
  await page.getByText("The build log is no longer available").waitFor();
  await leave();
});
