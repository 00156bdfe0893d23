import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { fillSignIn, openBrowser, ownerOf, signIn, visit } from "../support/browser.ts";
import { aDataDir, exampleOf, startService, type TestService } from "../support/service.ts";

let service: TestService;
let dataDir: Awaited<ReturnType<typeof aDataDir>>;
let browser: Browser;

beforeAll(async () => {
  dataDir = await aDataDir();
  [browser, service] = await Promise.all([openBrowser(), startService({ dataDir: dataDir.dataDir })]);
}, 600_000);

afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await dataDir?.remove();
});

test("the editor, signed in to with the password of the first start, lists the example and runs it by its form", async () => {
  const { page, leave } = await visit(browser, service.ready);
  await signIn(page, ownerOf(service.ready));
  await page.getByRole("link", { name: "Hello" }).click();

  await page.getByLabel("Who to greet").fill("Ada");
  await page.getByLabel("How often").fill("3");
  await page.getByRole("button", { name: "Run", exact: true }).click();

  await page.waitForURL(/\/executions\/ex_[a-z0-9]+$/);
  const { pathname } = new URL(page.url());
  await page.getByRole("banner").waitFor();
  await page.getByText("Success", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: /^greeting/ }).waitFor();
  await page.getByText('"Hello, Ada!').first().waitFor();

  await page.reload();
  await page.getByText("Success", { exact: true }).first().waitFor();
  expect(new URL(page.url()).pathname).toBe(pathname);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: /^Download greeting/ }).click();
  expect((await download).suggestedFilename()).toBe("greeting.json");
  await leave();
});

test("the form, filled in wrongly, says so at each control and sends nothing", async () => {
  const { page, leave } = await visit(browser, service.ready);
  const sent: string[] = [];
  page.on("request", (request) => void (request.method() === "POST" && sent.push(request.url())));
  await signIn(page, ownerOf(service.ready));
  sent.length = 0;
  await page.goto(`/workflows/${exampleOf(service.ready, "hello").workflowId}/run`);
  await page.getByLabel("How often").fill("500");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Must be at most 100, not 500.").waitFor();
  expect(await page.getByLabel("How often").getAttribute("aria-invalid")).toBe("true");
  expect(sent).toEqual([]);
  await leave();
});

test("a page, opened by its address by somebody who is not signed in, is shown after the sign-in", async () => {
  const { page, leave } = await visit(browser, service.ready);
  await page.goto("/account/tokens");
  await fillSignIn(page, ownerOf(service.ready));
  await page.getByRole("heading", { name: "Access tokens" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/account/tokens");
  await leave();
});

test("signing in, with a wrong password, says so where the form is", async () => {
  const { page, expectProblems, leave } = await visit(browser, service.ready);
  expectProblems(/401 .*\/api\/session/);
  await page.goto("/");
  await fillSignIn(page, { ...ownerOf(service.ready), password: "wrong" });
  await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
  await leave();
});

test("a link to the sign-in that names another website, after the sign-in, leads home instead", async () => {
  const { page, leave } = await visit(browser, service.ready);
  await page.goto("/sign-in?from=//example.com/");
  await fillSignIn(page, ownerOf(service.ready));
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
  expect(new URL(page.url()).origin).toBe(service.ready.url);
  await leave();
});
