import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { findGrave } from "../support/accessibility.ts";
import { readProperty, waitUntil } from "../support/browser.ts";
import { CLIP } from "../support/clip.ts";
import { runForm, waitForSuccess } from "../support/desk.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";
import { GALLERY } from "../support/programs.ts";
import { LOOKS, lookAtRun } from "../support/run-looks.ts";

let editor: Editor;
let gallery: Published;
/** Of the gallery, with outputs of every kind: the first test makes it. */
let ran: string;

beforeAll(async () => {
  editor = await openEditor("outputs");
  gallery = await editor.publish(GALLERY);
}, 600_000);

afterAll(() => editor?.close());

/** Opens an output of the page, where it is not open; answers what is inside. */
async function openOutput(page: Page, fileName: string): Promise<Locator> {
  const head = page.getByRole("button", { name: `${fileName} · ` });
  if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
  return page.getByRole("region", { name: fileName });
}

test("outputs, each of another kind, are shown as what they are; what could run is shown as its source and never run; bytes come as they were written", async () => {
  const { page, context, leave, expectProblems } = await editor.enter(`/workflows/${gallery.workflowId}/run`);
  // Nothing is beside the outputs then: a page of paper leaves room on both sides of it, and can be told from an empty frame.
  await page.setViewportSize({ width: 990, height: 800 });
  const asked: string[] = [];
  // What the policy of a file keeps out is asked for, too, and never sent.
  page.on("response", (response) => void asked.push(new URL(response.url()).pathname));
  const clip = { name: "clip.webm", mimeType: "video/webm", buffer: CLIP };
  await page.getByLabel("Clip", { exact: true }).setInputFiles(clip);
  const executionId = await runForm(page);
  await waitForSuccess(page);
  ran = executionId;

  await (await openOutput(page, "notes.txt")).getByText("and the second: grüße").waitFor();
  const tree = await openOutput(page, "tree.json");
  await tree.getByText("12345678901234567890", { exact: true }).waitFor();
  await tree.getByText("1.50", { exact: true }).waitFor();
  const table = await openOutput(page, "table.csv");
  await table.getByRole("columnheader", { name: "people" }).waitFor();
  await table.getByRole("cell", { name: "Bern, the old town" }).waitFor();
  const picture = (await openOutput(page, "picture.png")).getByRole("img");
  await waitUntil("the picture is there", async () => (await readProperty(picture, "naturalWidth")) === 320);
  const sound = (await openOutput(page, "sound.wav")).locator("audio");
  await waitUntil("the sound is there", async () => (await readProperty(sound, "duration")) === 0.5);
  const film = (await openOutput(page, "clip.webm")).locator("video");
  await waitUntil("the film is there", async () => (await readProperty(film, "videoWidth")) === 64);
  const paper = await openOutput(page, "paper.pdf");
  if (await page.evaluate<boolean>("navigator.pdfViewerEnabled")) {
    const frame = paper.locator("iframe");
    expect(await frame.getAttribute("src")).toMatch(/^blob:.*toolbar=0/);
    await waitUntil("the paper is drawn", async () => {
      const white = await measureWhite(page, await frame.screenshot());
      return white > 0.2 && white < 0.9;
    });
  } else await paper.getByText("This browser has no viewer for PDF.").waitFor();

  await checkDocuments(page);
  await checkTables(page);
  for (const name of ["page.html", "drawing.svg"]) {
    const source = await openOutput(page, name);
    await source.getByText("what programs make is never run in this page").waitFor();
    await source.locator("pre").getByText("owned-by-script").waitFor();
    const { headers, body } = await readOutput(page, executionId, name);
    expect(headers["content-disposition"]).toBe(`attachment; filename="${name}"`);
    expect(headers["content-security-policy"]).toBe("default-src 'none'; sandbox");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(body.toString()).toContain("owned-by-script");
    // Opened by itself it is a download, no page.
    const tab = await context.newPage();
    const kept = tab.waitForEvent("download");
    await tab.goto(`/api/run-logs/${executionId}/files/${name}`).catch(() => undefined);
    expect((await kept).suggestedFilename()).toBe(name);
    await tab.close();
  }
  const shown = await openOutput(page, "page.html");
  await shown.getByRole("button", { name: "Show the page" }).click();
  const framed = shown.frameLocator("iframe");
  await framed.getByRole("heading", { name: "Owned" }).waitFor();
  // Browsers tell the console what the policy of the file keeps out.
  expectProblems(/Blocked script execution|Content Security Policy|sandboxed/);
  const inner = page.frames().find((frame) => frame.url().endsWith("as=page"));
  expect(await inner?.evaluate<string>("self.origin")).toBe("null");
  const framedFile = await page.request.get(`/api/run-logs/${executionId}/files/page.html?as=page`);
  expect(framedFile.headers()["content-security-policy"]).toMatch(/^sandbox; default-src 'none'/);
  expect(await page.evaluate<unknown>("[window.owned, document.title.includes('owned')]")).toEqual([undefined, false]);
  expect(asked.filter((path) => path.startsWith("/owned"))).toEqual([]);

  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download all.bin" }).click();
  const bytes = await readFile(await (await download).path());
  const written = Buffer.from(Array.from({ length: 256 * 400 }, (_, at) => at % 256));
  expect(bytes.equals(written)).toBe(true);
  expect((await readOutput(page, executionId, "clip.webm")).body.equals(CLIP)).toBe(true);
  const archive = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download all", exact: true }).click();
  expect((await archive).suggestedFilename()).toBe(`${executionId}.zip`);
  const packed = await readFile(await (await archive).path());
  for (const part of [written, CLIP]) expect(packed.includes(part)).toBe(true);
  await leave();
});

/** What has a form, and could have a script in it: it is drawn piece by piece, and the rest is text or left out. */
async function checkDocuments(page: Page): Promise<void> {
  const report = await openOutput(page, "report.md");
  await report.getByRole("heading", { name: "Report", level: 3 }).waitFor();
  await report.getByText("All is well & done").waitFor();
  expect(await report.getByRole("link", { name: "see" }).getAttribute("rel")).toContain("noopener");
  expect(await report.getByRole("link").count()).toBe(1);
  await report.getByRole("cell", { name: "Bern" }).waitFor();
  await report.getByText("a chart", { exact: true }).waitFor();
  await report.getByText("<script>document.title").waitFor();
  expect(await report.locator("img, script").count()).toBe(0);
  await report.getByRole("button", { name: "Show the source" }).click();
  await report.locator("pre", { hasText: "# Report" }).waitFor();

  const study = await openOutput(page, "study.ipynb");
  await study.getByRole("heading", { name: "Study", level: 3 }).waitFor();
  for (const words of ["1 / 0", "counted", "the plain table", "ZeroDivisionError: division by zero"])
    await study.getByText(words, { exact: true }).waitFor();
  const picture = study.getByRole("img", { name: "Output of the cell" });
  await waitUntil("the notebook's picture is there", async () => (await readProperty(picture, "naturalWidth")) === 40);
  expect(await study.locator("script, svg").count()).toBe(0);

  const bundle = await openOutput(page, "bundle.zip");
  const rows = bundle.getByRole("row");
  await rows.filter({ hasText: "first/numbers.txt" }).getByText("10 bytes").waitFor();
  await rows.filter({ hasText: "../../escape.txt" }).waitFor();
}

/** Lines of JSON, sorted and filtered; and a picture that is closed. */
async function checkTables(page: Page): Promise<void> {
  const table = await openOutput(page, "rows.jsonl");
  const column = async (at: number) => (await table.locator(`tbody td:nth-child(${at})`).allInnerTexts()).slice(0, 3);
  await table.getByRole("cell", { name: "9007199254740993" }).waitFor();
  await table.getByRole("cell", { name: '{"a":[1.5]}' }).waitFor();
  const head = table.getByRole("columnheader", { name: "n", exact: true });
  await head.getByRole("button").click();
  expect(await head.getAttribute("aria-sort")).toBe("ascending");
  expect(await column(3)).toEqual(["-7", "-6", "-5"]);
  await head.getByRole("button").click();
  expect(await column(3)).toEqual(["10", "2", "-3"]);
  await head.getByRole("button").click();
  expect(await head.getAttribute("aria-sort")).toBeNull();
  await table.getByRole("searchbox", { name: "Filter rows" }).fill("ROW 4");
  await table.getByText("1 row of 7").waitFor();
  expect(await column(2)).toEqual(["row 4"]);

  const cities = await openOutput(page, "cities.parquet");
  await cities.getByText("The first 1,000 of 2,500 rows").waitFor();
  await cities.getByRole("cell", { name: "9007199254740993" }).waitFor();
  await cities.getByRole("cell", { name: "<script>owned</script>" }).first().waitFor();
  await cities.getByRole("searchbox", { name: "Filter rows" }).fill("2026-03-04");
  await cities.getByText(/^\d rows of 1000$/).waitFor();
  const book = await openOutput(page, "cities.xlsx");
  await book.getByRole("cell", { name: "Zürich & <b>more</b>" }).waitFor();
  await book.getByRole("cell", { name: "2026-11-24 18:05:00" }).waitFor();
  await book.getByLabel("Sheet").selectOption("Second");
  await book.getByRole("columnheader", { name: "only here" }).waitFor();

  await page.getByRole("button", { name: "picture.png · " }).click();
  const small = page.locator('img[alt=""][src$="/picture.png"]');
  await waitUntil("the thumbnail is there", async () => (await readProperty(small, "naturalWidth")) === 320);
}

/** How much of a picture is white, from 0 to 1: of an empty frame all or nothing, of a page in its viewer a part. */
function measureWhite(page: Page, picture: Buffer): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const bytes = Uint8Array.from(atob(${JSON.stringify(picture.toString("base64"))}), (letter) => letter.charCodeAt(0));
    const drawn = await createImageBitmap(new Blob([bytes]));
    const { width, height } = drawn;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas.drawImage(drawn, 0, 0);
    const { data } = canvas.getImageData(0, 0, width, height);
    let white = 0;
    for (let at = 0; at < data.length; at += 4) if (data[at] + data[at + 1] + data[at + 2] === 765) white += 1;
    return white / (width * height);
  })()`);
}

test("an output's link, copied for an hour, opens the file for anyone who has it", async () => {
  const { page, context, leave } = await editor.enter(`/executions/${ran}`);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  // By the keyboard: as long as outputs above it come in, they move it away under a pointer.
  await page.getByRole("button", { name: "Copy a link to table.csv" }).press("Enter");
  // A menu takes the focus a moment after it has opened, and with it a key that is on its way.
  await waitUntil("the menu has the focus", () =>
    page.evaluate("document.activeElement.closest('[role=menu]') !== null"),
  );
  await page.getByRole("menuitem", { name: "1 hour" }).press("Enter");
  await page.getByText(/^Anyone with the link can open table\.csv until/).waitFor();
  const link = await page.evaluate<string>("navigator.clipboard.readText()");
  const path = new URL(link).pathname + new URL(link).search;
  const { status, text } = await editor.service.call(path.slice("/api".length), { method: "GET" });
  expect([status, text]).toEqual([200, expect.stringContaining("people")]);
  const unsigned = await editor.service.call(path.slice("/api".length).split("?")[0] ?? "", { method: "GET" });
  expect(unsigned.status).toBe(401);
  await leave();
});

test("outputs, that a browser cannot show after all, are offered for download in the place of an empty box", async () => {
  const { page, leave } = await editor.enter();
  await page.addInitScript("Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => false })");
  for (const name of ["picture.png", "sound.wav", "clip.webm", "cities.parquet", "cities.xlsx"])
    await page.route(`**/files/${name}`, (call) => call.fulfill({ body: "no such thing" }));
  await page.goto(`/executions/${ran}`);
  const reasons = {
    "all.bin": "There is no preview for this kind of file.",
    "picture.png": "This browser cannot show it.",
    "sound.wav": "This browser cannot play it.",
    "clip.webm": "This browser cannot play it.",
    "paper.pdf": "This browser has no viewer for PDF.",
  };
  for (const [name, reason] of Object.entries(reasons)) {
    const shown = await openOutput(page, name);
    await shown.getByText(reason).waitFor();
    expect(await shown.locator("iframe, img, audio, video").count()).toBe(0);
    const offered = shown.getByRole("link", { name: "Download it" });
    expect(await offered.getAttribute("download")).toBe(name);
  }
  await (await openOutput(page, "cities.parquet")).getByText("This Parquet file cannot be shown.").waitFor();
  await (await openOutput(page, "cities.xlsx")).getByText("This workbook cannot be shown.").waitFor();
  const download = page.waitForEvent("download");
  await (await openOutput(page, "paper.pdf")).getByRole("link", { name: "Download it" }).click();
  expect((await readFile(await (await download).path())).subarray(0, 5).toString()).toBe("%PDF-");
  expect(await findGrave(page)).toEqual([]);
  await leave();
});

async function readOutput(page: Page, executionId: string, name: string) {
  const answer = await page.request.get(`/api/run-logs/${executionId}/files/${name}`);
  return { headers: answer.headers(), body: await answer.body() };
}

test.each(LOOKS)("outputs of every kind, in $name, keep nobody out and fit their window", async (look) => {
  const { page, leave } = await editor.enter(`/executions/${ran}`, look);
  await page.getByRole("heading", { name: "Outputs", exact: true }).waitFor();
  expect(await lookAtRun(page)).toEqual([]);
  // The log is beside them where there is room, else below.
  const outputs = await page.getByRole("heading", { name: "Outputs", exact: true }).boundingBox();
  const log = await page.getByRole("heading", { name: "Log", exact: true }).boundingBox();
  expect((log?.x ?? 0) > (outputs?.x ?? 0) + 400).toBe(look.width >= 1200);
  await leave();
});
