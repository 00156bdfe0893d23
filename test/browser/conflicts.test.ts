import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findGrave } from "../support/accessibility.ts";
import { signIn } from "../support/browser.ts";
import { aMember, aWriter, commit, openFile, waitUntilSaved, writeFirst } from "../support/desk.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("conflicts");
}, 600_000);

afterAll(() => editor?.close());

test("a file, that somebody else has committed otherwise, is shown beside one's own in every browser until it is settled, and both go into the commit", async () => {
  const owner = await aWriter(editor, "Written by two");
  const { page: first, workflowId } = owner;
  await commit(first, "Begin");
  const member = await aMember(editor, "both");
  const { page } = member;
  await openFile(page, workflowId, "main.py");
  await writeFirst(page, "MINE = 1\n");
  await waitUntilSaved(page);
  await openFile(first, workflowId, "main.py");
  await writeFirst(first, "THEIRS = 2\n");
  await waitUntilSaved(first);
  await commit(first, "Theirs");

  await page
    .getByRole("alert")
    .filter({ hasText: "was committed after your draft began" })
    .getByRole("button", { name: "Take it over" })
    .click();
  const notice = page.getByRole("alert").filter({ hasText: "changed the same file" });
  await notice.waitFor();
  // It is there as long as nothing was decided, in another browser, too.
  const elsewhere = await editor.visit();
  await signIn(elsewhere.page, { email: editor.emailOf("both"), password: "a long enough password" });
  await openFile(elsewhere.page, workflowId, "main.py");
  const reminder = elsewhere.page.getByRole("alert").filter({ hasText: "changed the same file" });
  await reminder.getByRole("button", { name: "Compare main.py" }).waitFor();
  await openFile(page, workflowId, "main.py");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("dialog").getByText("Another author changed main.py, too.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Compare first" }).click();
  await notice.getByRole("button", { name: "Compare main.py" }).click();
  const dialog = page.getByRole("dialog", { name: "Both have changed main.py" });
  const [their, own] = [dialog.getByLabel("Their main.py"), dialog.getByLabel("Your main.py")];
  await their.getByText("THEIRS = 2").waitFor();
  await own.getByText("MINE = 1").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await own.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("# both\n");
  await dialog.getByRole("button", { name: "Take these lines over" }).first().press("Enter");
  await own.getByText("THEIRS = 2").waitFor();
  await own.click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText("MINE = 3\n");
  await dialog.getByRole("button", { name: "Done: it is as I want it" }).click();
  await dialog.waitFor({ state: "detached" });
  await notice.waitFor({ state: "detached" });
  await waitUntilSaved(page);
  await openFile(elsewhere.page, workflowId, "main.py");
  await elsewhere.page.locator(".cm-line", { hasText: "MINE = 3" }).waitFor();
  expect(await reminder.count()).toBe(0);
  await elsewhere.leave();
  await commit(page, "Both");
  await openFile(page, workflowId, "main.py");
  const lines = await page.locator(".cm-line").allInnerTexts();
  expect(lines.slice(0, 2)).toEqual(["MINE = 3", "THEIRS = 2"]);
  await member.leave();
  await owner.leave();
});

test("on a phone, each place where two texts differ has its own choice above its lines, and is decided by itself", async () => {
  const { workflowId } = await editor.ask<{ workflowId: string }>("POST", "/api/workflows", { name: "Twice" });
  const path = `/api/workflows/${workflowId}`;
  const write = async (first: number, last: number): Promise<number> => {
    const lines = [`FIRST = ${first}`, ...Array.from({ length: 8 }, (_, line) => `# ${line}`), `LAST = ${last}`];
    const changes = [
      { path: "config.yaml", text: "name: Twice\n" },
      { path: "main.py", text: `${lines.join("\n")}\n` },
    ];
    const { version } = await editor.ask<{ version: number }>("GET", `${path}/draft`);
    return (await editor.ask<{ version: number }>("PATCH", `${path}/draft`, { version, changes })).version;
  };
  const send = async (version: number, message: string, expectedHead: string | null): Promise<string> =>
    (await editor.ask<{ commitId: string }>("POST", `${path}/commits`, { version, message, expectedHead })).commitId;
  const theirs = await send(await write(1, 1), "One", null);
  const base = await send(await write(2, 2), "Two", theirs);
  await write(3, 3);
  await editor.ask("POST", `${path}/commits/${theirs}/restore`, { expectedHead: base });

  const { page, leave } = await editor.enter("/", { width: 390, touch: true });
  await openFile(page, workflowId, "main.py");
  await page.getByRole("button", { name: "Take it over" }).click();
  await page.getByRole("button", { name: "Compare main.py" }).click();
  const dialog = page.getByRole("dialog", { name: "Both have changed main.py" });
  await dialog.getByRole("button", { name: "Take theirs", exact: true }).nth(1).waitFor();
  const places = await dialog.locator(".cm-deletedChunk").evaluateAll((chunks) =>
    chunks.map((chunk) => {
      const [around, ...choices] = [chunk, ...chunk.querySelectorAll("button")].map((it) => it.getBoundingClientRect());
      return choices.filter(({ top, bottom }) => top >= (around?.top ?? 0) && bottom <= (around?.bottom ?? 0)).length;
    }),
  );
  expect(places).toEqual([2, 2]);
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Take theirs", exact: true }).nth(1).click();
  await dialog.getByRole("button", { name: "Done: it is as I want it" }).click();
  await dialog.waitFor({ state: "detached" });
  await waitUntilSaved(page);
  const { files } = await editor.ask<{ files: { path: string; text: string }[] }>("GET", `${path}/draft`);
  const lines = files.find((file) => file.path === "main.py")?.text.split("\n") ?? [];
  expect([lines[0], lines[9]]).toEqual(["FIRST = 3", "LAST = 1"]);
  await leave();
});
