import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { findGrave, findOverflow } from "../support/accessibility.ts";
import { readProperty, readStyle, waitUntil } from "../support/browser.ts";
import { CLIP } from "../support/clip.ts";
import { runForm, waitForSuccess } from "../support/desk.ts";
import { type Editor, openEditor, type Published } from "../support/editor.ts";
import { GALLERY, LINES, PULSE } from "../support/programs.ts";

const LINES_MANY = 100_000;
const LOOKS = [
  { name: "light", dark: false, width: 1280 },
  { name: "dark", dark: true, width: 1280 },
  { name: "dark on a phone", dark: true, width: 390 },
];

let editor: Editor;
let gallery: Published;
let lines: Published;
let pulse: Published;
/** What the tests before have run, to be looked at once more in every look. */
const seen: Record<string, { executionId: string; sign: string }> = {};

beforeAll(async () => {
  editor = await openEditor("watching");
  gallery = await editor.publish(GALLERY);
  lines = await editor.publish(LINES);
  pulse = await editor.publish(PULSE);
}, 600_000);

afterAll(() => editor?.close());

/** The log on a page: its rows that are drawn, how many lines it says there are, and where it is scrolled to. */
function aLog(page: Page) {
  const place = page.getByRole("region", { name: "Lines of the log" });
  const note = page.getByText(/^[\d,]+ lines?$/);
  return {
    place,
    rows: place.locator("[data-index]"),
    line: (text: string): Locator => place.locator("[data-index]").filter({ hasText: new RegExp(`^\\d+${text}$`) }),
    ticks: place.locator("[data-index]").filter({ hasText: /tick \d+$/ }),
    countLines: async () => Number((await note.innerText()).replaceAll(/\D/g, "")),
    follow: page.getByRole("button", { name: "Follow the end" }),
    latest: page.getByRole("button", { name: "Latest" }),
    search: page.getByRole("searchbox", { name: "Search the log" }),
  };
}

/** From now on, keeps what a screen reader would say by itself: what comes into a place that it listens to. */
const HEAR = `
  globalThis.heard = [];
  new MutationObserver((changes) => {
    const places = new Set(changes.map(({ target }) => (target.nodeType === 3 ? target.parentElement : target)?.closest("[role=status], [role=alert], [aria-live]")));
    for (const place of places) if (place && place.textContent.trim() !== "") heard.push(place.textContent.trim());
  }).observe(document.body, { childList: true, characterData: true, subtree: true });`;

test("the log, while its program runs, shows lines as they come, in their colours, also after a refresh, and follows or stays; cancelled, it ends", async () => {
  const { page, leave } = await editor.enter(`/workflows/${pulse.workflowId}/run`);
  const executionId = await runForm(page);
  const log = aLog(page);
  await log.ticks.first().waitFor();
  await page.getByText("Running", { exact: true }).first().waitFor();
  await page.getByText("Counting · 25 %").waitFor();
  await log.follow.click();
  await log.place.press("Home");
  await log.line("100% of the bar").waitFor();
  const green = log.place.getByText("green", { exact: true });
  expect(Number(await readStyle(green, "font-weight"))).toBeGreaterThan(500);
  expect(await readStyle(green, "color")).not.toBe(await readStyle(log.line("green and plain"), "color"));

  await page.reload();
  await log.ticks.first().waitFor();
  await page.evaluate(HEAR);
  const scroll = async () => Number(await readProperty(log.place, "scrollTop"));
  await waitUntil("there are more lines than fit", async () => (await scroll()) > 200);
  // Its newest line is within the window, so that one sees it move.
  const bottom =
    "document.querySelector('[aria-label=\"Lines of the log\"]').getBoundingClientRect().bottom - innerHeight";
  expect(await page.evaluate<number>(bottom)).toBeLessThanOrEqual(0);
  await log.follow.click();
  expect(await log.follow.getAttribute("aria-pressed")).toBe("false");
  const [stopped, before] = [await scroll(), await log.countLines()];
  await waitUntil("lines came meanwhile", async () => (await log.countLines()) > before + 10);
  expect(await scroll()).toBe(stopped);
  await log.latest.click();
  await waitUntil("it goes on with the end", async () => (await scroll()) > stopped);
  await log.latest.waitFor({ state: "detached" });
  expect(await log.follow.getAttribute("aria-pressed")).toBe("true");

  await log.search.fill("careful");
  await page.getByText(/^1 of 1$/).waitFor();
  await log.place.locator("[data-current] mark").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByText("Cancelled", { exact: true }).first().waitFor();
  await page.getByRole("note").filter({ hasText: "The execution was cancelled." }).waitFor();
  await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });
  const record = await page.request.get(`/api/executions/${executionId}`);
  expect(await record.json()).toMatchObject({ status: "cancelled", draft: false });
  // Of all that changed meanwhile, lines and steps among it, these two were said, and once.
  const heard = await page.evaluate<string[]>("heard");
  expect(heard.filter((words) => !/^(None|\d+ of \d+)$/.test(words)).toSorted()).toEqual([
    "Cancelled · Pulse",
    "The run is being cancelled",
  ]);
  seen["a log in colours, cancelled"] = { executionId, sign: "Log" };
  await leave();
});

test("a log of 100,000 lines is drawn a window at a time, from the first line to the last, and searched as a whole", async () => {
  const { page, leave } = await editor.enter(`/workflows/${lines.workflowId}/run`);
  await page.getByRole("textbox", { name: "Lines" }).fill(String(LINES_MANY));
  const executionId = await runForm(page);
  const log = aLog(page);
  await page.getByText("100,000 lines", { exact: true }).waitFor();
  await log.line("line 99999").waitFor();
  // Six digits are in one line.
  const numbers = await log.rows.last().locator("a").first().boundingBox();
  expect(numbers?.height).toBeLessThan(25);
  expect(await log.rows.count()).toBeLessThan(150);
  await log.place.press("Home");
  await log.line("line 0").waitFor();
  expect(await log.line("line 99999").count()).toBe(0);
  await log.place.press("End");
  await log.line("line 99999").waitFor();

  await log.search.fill("NEEDLE");
  await page.getByText("1 of 1", { exact: true }).waitFor();
  await log.line("line 50000 needle").locator("mark").waitFor();
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  await log.search.fill("line 777");
  await page.getByText("1 of 111", { exact: true }).waitFor();
  await log.line("line 777").locator("mark").waitFor();
  await log.search.press("Shift+Enter");
  await page.getByText("111 of 111", { exact: true }).waitFor();
  await log.line("line 77799").locator("mark").waitFor();
  expect(await log.rows.count()).toBeLessThan(150);
  seen["a long log"] = { executionId, sign: "Log" };
  await leave();
});

/** Opens an output of the page, where it is not open; answers what is inside. */
async function openOutput(page: Page, fileName: string): Promise<Locator> {
  const head = page.getByRole("button", { name: `${fileName} · ` });
  if ((await head.getAttribute("aria-expanded")) === "false") await head.click();
  return page.getByRole("region", { name: fileName });
}

test("outputs, each of another kind, are shown as what they are; what could run is shown as its source and never run; bytes come as they were written", async () => {
  const { page, context, leave } = await editor.enter(`/workflows/${gallery.workflowId}/run`);
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  const clip = { name: "clip.webm", mimeType: "video/webm", buffer: CLIP };
  await page.getByLabel("Clip", { exact: true }).setInputFiles(clip);
  const executionId = await runForm(page);
  await waitForSuccess(page);
  seen["outputs of every kind"] = { executionId, sign: "Outputs" };

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
  expect(await page.evaluate<unknown>("[window.owned, document.title.includes('owned')]")).toEqual([undefined, false]);
  expect(asked.filter((path) => path.startsWith("/owned"))).toEqual([]);

  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download all.bin" }).click();
  const bytes = await readFile(await (await download).path());
  const written = Buffer.from(Array.from({ length: 256 * 400 }, (_, at) => at % 256));
  expect(bytes.equals(written)).toBe(true);
  expect((await readOutput(page, executionId, "clip.webm")).body.equals(CLIP)).toBe(true);
  await leave();
});

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
  const executionId = seen["outputs of every kind"]?.executionId;
  const { page, context, leave } = await editor.enter(`/executions/${executionId}`);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy a link to table.csv" }).click();
  await page.getByRole("menuitem", { name: "1 hour" }).click();
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
  const executionId = seen["outputs of every kind"]?.executionId;
  const { page, leave } = await editor.enter();
  await page.addInitScript("Object.defineProperty(Navigator.prototype, 'pdfViewerEnabled', { get: () => false })");
  for (const name of ["picture.png", "sound.wav", "clip.webm"])
    await page.route(`**/files/${name}`, (call) => call.fulfill({ body: "no such thing" }));
  await page.goto(`/executions/${executionId}`);
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

test("an execution that failed says why where one looks first, and how in its log", async () => {
  const broken = { ...LINES, "main.py": 'def main(lines):\n    print("begun")\n    return [][lines]\n' };
  const { workflowId } = await editor.publish(broken);
  const { page, leave } = await editor.enter(`/workflows/${workflowId}/run`);
  await page.getByRole("textbox", { name: "Lines" }).fill("7");
  const executionId = await runForm(page);
  await page.getByRole("alert").filter({ hasText: "IndexError: list index out of range" }).waitFor();
  await aLog(page).place.getByText("Traceback").waitFor();
  const timeline = page.getByRole("region", { name: "Timeline" });
  await timeline
    .getByRole("listitem")
    .filter({ hasText: /^Program/ })
    .waitFor();
  expect(await timeline.getByText(/ms|s$/).count()).toBeGreaterThan(1);
  // From the frame to its line, in the files that have run.
  await aLog(page).place.getByRole("link", { name: 'File "/app/main.py", line 3' }).click();
  await page.waitForURL(/\/code\?commit=[0-9a-f]{40}&file=main\.py&line=3$/);
  await page.locator(".cm-activeLine", { hasText: "return [][lines]" }).waitFor();
  await page.getByRole("link", { name: "Edit in draft" }).click();
  await page.waitForURL(/\/code\?file=main\.py&line=3$/);
  await page.locator(".cm-activeLine", { hasText: "return [][lines]" }).waitFor();
  // A line has an address.
  await page.goto(`/executions/${executionId}#L1`);
  await aLog(page).place.locator("[data-current]", { hasText: "begun" }).waitFor();
  await page.goto(`/workflows/${workflowId}/overview`);
  await page.getByRole("region", { name: "Last failure" }).getByText("IndexError: list index out of range").waitFor();
  await page.getByText("Last 30 runs: 1 failed").waitFor();
  const ends = page.getByRole("table", { name: "Runs a day, by their end" }).getByRole("row");
  expect((await ends.last().innerText()).split(/\s+/).slice(1)).toEqual(["0", "1"]);
  expect(await findGrave(page)).toEqual([]);
  await page.goto("/");
  const row = page.getByRole("row").filter({ has: page.locator(`a[href*="${workflowId}"]`) });
  await row.getByText("Last 20 runs: 1 failed").waitFor();
  seen["a failure"] = { executionId, sign: "Log" };
  await leave();
});

test.each(LOOKS)("what executions have left behind, in $name, keeps nobody out and fits its window", async (look) => {
  const { page, leave } = await editor.enter(undefined, look);
  const found: Record<string, unknown> = {};
  expect(Object.keys(seen)).toHaveLength(4);
  for (const [name, { executionId, sign }] of Object.entries(seen)) {
    await page.goto(`/executions/${executionId}`);
    await page.getByRole("heading", { name: sign, exact: true }).waitFor();
    await page.locator("[data-index]").first().waitFor();
    const closed = page
      .getByRole("main")
      .getByRole("button", { expanded: false })
      .and(page.locator(":not([aria-haspopup])"));
    while ((await closed.count()) > 0) await closed.first().click();
    found[name] = [...(await findGrave(page)), ...(await findOverflow(page))];
  }
  expect(found).toEqual(Object.fromEntries(Object.keys(seen).map((name) => [name, []])));
  await leave();
});
