import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { readStyle } from "../support/browser.ts";
import { type Editor, openEditor } from "../support/editor.ts";

let editor: Editor;

beforeAll(async () => {
  editor = await openEditor("secrets", { examples: ["hello"] });
}, 600_000);

afterAll(() => editor?.close());

const NAMING = {
  "config.yaml": "name: Load\nsecrets: [WAREHOUSE_PASSWORD]\n",
  "main.py": `import hashlib
import os


def main():
    print("It is", os.environ["WAREHOUSE_PASSWORD"])
    return {"digest": hashlib.sha256(os.environ["WAREHOUSE_PASSWORD"].encode()).hexdigest()}
`,
};

/** Sets a secret in the dialog that is open. */
async function fillValue(page: Page, value: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  const field = dialog.getByRole("textbox", { name: "Value" });
  expect([await field.inputValue(), await readStyle(field, "-webkit-text-security")]).toEqual(["", "disc"]);
  await field.fill(`${value}\n`);
  await dialog.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Runs the workflow by its form until its outputs show the digest of the value, and its log where the value was. */
async function runWith(page: Page, workflowId: string, value: string): Promise<void> {
  await page.goto(`/workflows/${workflowId}/run`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/\/executions\//);
  await page.getByText(createHash("sha256").update(value).digest("hex")).first().waitFor();
  await page.getByText("It is ***").first().waitFor();
  expect(await findLines(page, value)).toEqual([]);
}

/** The lines of a value that the page has: anywhere, also where they are not seen. */
async function findLines(page: Page, value: string): Promise<string[]> {
  const all = await page.evaluate<string>(
    "document.documentElement.outerHTML + [...document.querySelectorAll('input, textarea')].map((it) => it.value)",
  );
  return value.split("\n").filter((line) => all.includes(line));
}

test("a secret, set on its page, is what runs get and stands nowhere again; it stays as long as a workflow names it", async () => {
  const [first, second] = ["first of the lines\nsecond of the lines", "another password"];
  const { page, expectProblems, leave } = await editor.enter("/account/secrets");
  await page.getByRole("button", { name: "New secret" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("PATH");
  await dialog.getByRole("textbox", { name: "Value" }).fill("x");
  await dialog.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.getByText('"PATH" cannot be set').waitFor();
  await dialog.getByRole("textbox", { name: "Name" }).fill("WAREHOUSE_PASSWORD");
  await dialog.getByRole("textbox", { name: "Value" }).fill("");
  expect(await findGrave(page)).toEqual([]);
  await fillValue(page, first);
  const row = page.getByRole("row", { name: /WAREHOUSE_PASSWORD/ });
  await row.getByText(`version 1, by ${editor.owner.email}`).waitFor();
  await row.getByText("Never").waitFor();

  const { workflowId } = await editor.publish(NAMING);
  await runWith(page, workflowId, first);
  await page.goto("/account/secrets");
  await row.getByRole("link", { name: "Load" }).waitFor();
  expect(await row.getByText("Never").count()).toBe(0);
  expect(await findLines(page, first)).toEqual([]);

  await row.getByRole("button", { name: /^New value/ }).click();
  await fillValue(page, second);
  await row.getByText("version 2,").waitFor();
  expect(await findLines(page, second)).toEqual([]);
  await runWith(page, workflowId, second);

  expectProblems(/status of 409/);
  await page.goto("/account/secrets");
  await row.getByRole("button", { name: /^Remove/ }).click();
  await dialog.getByRole("link", { name: "Load" }).waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await dialog
    .getByRole("alert")
    .filter({ hasText: `is used by Load (${workflowId})` })
    .waitFor();
  expect(await findGrave(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await row.getByRole("button", { name: /^History/ }).click();
  await dialog.getByRole("rowheader", { name: "2", exact: true }).waitFor();
  expect(await dialog.getByRole("rowheader").allInnerTexts()).toEqual(["2", "1"]);
  expect([...(await findLines(page, first)), ...(await findLines(page, second))]).toEqual([]);
  await leave();
});

test("a variable of one workflow, set and removed in its settings, is shown to every member, and its history says by whom it was removed", async () => {
  const workflowId = String(editor.examples["hello"]?.workflowId);
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/settings`);
  const dialog = page.getByRole("dialog");
  const row = page.getByRole("row", { name: /LEVEL/ });
  const add = async (value: string) => {
    await page.getByRole("button", { name: "New variable" }).click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("LEVEL");
    await dialog.getByRole("textbox", { name: "Value" }).fill(value);
    await dialog.getByRole("button", { name: "Set", exact: true }).click();
    await row.getByText(value).waitFor();
  };
  await add("debug");
  await row.getByRole("button", { name: /^Remove/ }).click();
  await dialog.getByText("No workflow uses it.").waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No variable is set.").waitFor();
  await add("info");

  await page.getByRole("link", { name: "All values of the account" }).click();
  await row.getByRole("link", { name: "Hello" }).waitFor();
  await row.getByText("info").waitFor();
  await row.getByRole("button", { name: /^History/ }).click();
  await dialog.getByRole("row", { name: /^2 Removed/ }).waitFor();
  const lines = (await dialog.getByRole("row").allInnerTexts()).slice(1).map((text) => text.split(/\s+/));
  expect(lines.map(([version, change]) => [version, change])).toEqual([
    ["3", "Set"],
    ["2", "Removed"],
    ["1", "Set"],
  ]);
  await dialog.getByText("debug").waitFor();
  await leave();
});

test("a place, added on its page, shows its secret once and what came of each message, and is removed", async () => {
  const { page, expectProblems, leave } = await editor.enter("/account/notices");
  const dialog = page.getByRole("dialog");
  const row = page.getByRole("row", { name: /^ops/ });
  const choose = async (item: string): Promise<void> => {
    await row.getByRole("button", { name: "Change ops" }).click();
    await page.getByRole("menuitem", { name: item }).click();
  };
  /** Reads the secret that the dialog shows, and closes it. */
  const readSecret = async (): Promise<string> => {
    const shown = await dialog.getByRole("textbox", { name: "Secret" }).inputValue();
    expect(await findGrave(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Done" }).click();
    await dialog.waitFor({ state: "detached" });
    return shown;
  };
  expectProblems(/status of 400/);
  await page.getByRole("button", { name: "New place" }).click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("ops");
  await dialog.getByRole("textbox", { name: "URL" }).fill("http://localhost/hook");
  await dialog.getByRole("button", { name: "Add" }).click();
  await dialog.getByText("must begin with https://").waitFor();
  expect(await findGrave(page)).toEqual([]);
  await dialog.getByRole("textbox", { name: "URL" }).fill("https://localhost/hush");
  await dialog.getByRole("button", { name: "Add" }).click();
  const first = await readSecret();
  await row.getByText("https://localhost/…").waitFor();

  // Nothing is sent to this machine itself.
  await row.getByRole("button", { name: "Test ops" }).click();
  const sent = page.getByRole("row", { name: /^Test ops/ });
  await sent.getByText("Not delivered").waitFor();
  await sent.getByText("has an address that is not public").waitFor();
  await sent.getByRole("button", { name: /^Send again/ }).click();
  await sent.getByText("2 tries").waitFor();

  await choose("New secret");
  await dialog.getByRole("button", { name: "Make" }).click();
  const second = await readSecret();
  expect([first, second].every((secret) => /^whsec_.{40,}$/.test(secret)) && first !== second).toBe(true);
  await row.getByText("The old secret signs until").waitFor();
  expect([...(await findLines(page, first)), ...(await findLines(page, `${second}\nhush`))]).toEqual([]);
  await choose("Remove");
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("No place yet").waitFor();
  await page.getByText("Nothing was sent yet").waitFor();
  await leave();
});
