import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { fillSignIn, ownerOf } from "../support/browser.ts";
import { runForm, waitForSuccess } from "../support/desk.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";

let editor: Editor;
let greeter: Published;

beforeAll(async () => {
  editor = await openEditor("temporal", { isAlone: true });
  greeter = await editor.publish({ "config.yaml": "", "main.py": "def main():\n    print('hello')\n" });
}, 600_000);

afterAll(() => editor?.close());

/** Waits until Temporal's own page of an execution shows how it ended, and how it was driven. */
async function seeRecord(page: Page, executionId: string): Promise<void> {
  await page.getByText(executionId).first().waitFor();
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await page.getByText("executeCommit").first().waitFor();
}

test("a run's link opens Temporal's page of it for an owner, who signs in first where nobody is", async () => {
  const { page, context, expectProblems, leave } = await editor.enter(`/workflows/${greeter.workflowId}/run`);
  // What belongs to no execution of the account is not there for its owner. The second is a fault of the pages themselves.
  expectProblems(/status of 404|CodeMirror plugin crashed/);
  const executionId = await runForm(page);
  await waitForSuccess(page);
  const link = page.getByRole("link", { name: "Temporal" });
  expect(await link.getAttribute("href")).toContain(`${editor.service.ready.url}/temporal/`);
  const opening = context.waitForEvent("page");
  await link.click();
  const temporal = await opening;
  await seeRecord(temporal, executionId);
  const address = temporal.url();
  await leave();

  const signedOut = await editor.visit();
  signedOut.expectProblems(/status of 404|CodeMirror plugin crashed/);
  await signedOut.page.goto(address);
  await fillSignIn(signedOut.page, editor.owner);
  await seeRecord(signedOut.page, executionId);
  await signedOut.leave();
});

test("Temporal's pages, to an owner of the first account, list the executions of all, and have no button that would be refused", async () => {
  const { page, leave } = await editor.visit();
  await page.goto("/temporal/namespaces/treadle/workflows");
  await fillSignIn(page, ownerOf(editor.service.ready));
  await page.getByRole("link", { name: /^ex_/ }).first().waitFor();
  expect(await page.getByRole("button", { name: "Start Workflow" }).count()).toBe(0);
  await leave();
});
