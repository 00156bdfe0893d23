import type { Browser, BrowserContext, CDPSession, Page } from "playwright-core";
import { WAIT_MS } from "./browser.ts";
import { type Figure, toFigure } from "./figures.ts";

type StorageState = Awaited<ReturnType<BrowserContext["storageState"]>>;

export interface FirstPage {
  /** Milliseconds from the beginning of the navigation until what people use is painted and the page is free to answer. */
  readonly interactive: Figure;
  readonly firstPaint: Figure;
  /** Of everything that was loaded, as it came. */
  readonly kilobytes: number;
}

/** Runs in a page before its own: `benchInteractive` becomes the time at which what is looked for has been painted. */
const watchFor = (selector: string): string => `
  globalThis.benchInteractive = new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) requestAnimationFrame(look);
      // A task of its own after the frame in which it is: that frame has been painted, and nothing else is in the way.
      else requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    };
    look();
  });`;

const READ_FIRST_PAGE = `new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName("first-contentful-paint")[0];
  if (paint === undefined) return;
  const loaded = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  resolve({ firstPaint: paint.startTime, bytes: loaded.reduce((sum, { transferSize }) => sum + transferSize, 0) });
}).observe({ type: "paint", buffered: true }))`;

/** From each key to the task after the next frame, and whatever keeps the main thread for more than 50 ms. */
const WATCH_KEYS = `
  globalThis.benchKeys = [];
  globalThis.benchTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) benchTasks.push(duration);
  }).observe({ entryTypes: ["longtask"] });
  addEventListener("keydown", ({ key, timeStamp }) => {
    if (key.length === 1) requestAnimationFrame(() => setTimeout(() => benchKeys.push(performance.now() - timeStamp)));
  }, true);`;

/** When nothing is on its way any more. */
const READ_KEYS = `new Promise((resolve) => setTimeout(resolve, 500)).then(() => ({ keys: benchKeys, tasks: benchTasks }))`;

/**
 * How long a page takes from an empty cache: each time with a new profile, so with new connections, too. It counts as interactive
 * when `selector` has been painted; what keeps the main thread busy until then is part of that.
 */
export async function measureFirstPage(
  browser: Browser,
  options: { url: string; path: string; selector: string; rounds: number; storageState?: StorageState },
): Promise<FirstPage> {
  const interactive: number[] = [];
  const firstPaint: number[] = [];
  let kilobytes = 0;
  for (let round = 0; round < options.rounds; round += 1) {
    const { storageState } = options;
    const context = await newContext(browser, options.url, storageState);
    await context.addInitScript(watchFor(options.selector));
    const page = await context.newPage();
    await page.goto(options.path);
    interactive.push(await page.evaluate<number>("benchInteractive"));
    const loaded = await page.evaluate<{ firstPaint: number; bytes: number }>(READ_FIRST_PAGE);
    firstPaint.push(loaded.firstPaint);
    kilobytes = Math.round(loaded.bytes / 1024);
    await context.close();
  }
  return { interactive: toFigure(interactive), firstPaint: toFigure(firstPaint), kilobytes };
}

export async function newContext(browser: Browser, url: string, storageState?: StorageState): Promise<BrowserContext> {
  const context = await browser.newContext({
    baseURL: url,
    ignoreHTTPSErrors: true,
    viewport: { width: 1280, height: 800 },
    ...(storageState === undefined ? {} : { storageState }),
  });
  context.setDefaultTimeout(WAIT_MS);
  context.setDefaultNavigationTimeout(WAIT_MS);
  return context;
}

export interface Typing {
  readonly characters: number;
  /** Lines of the file that are not what they should be. */
  readonly wrongLines: number;
  readonly seconds: number;
  /** Milliseconds from a key to the frame after which it can be seen. */
  readonly keyToPaint: Figure;
  /** Tasks of more than 50 ms that the main thread was busy with. */
  readonly longTasks: number;
  readonly longestTaskMs: number;
}

const LINES = 2_000;
const LINES_TYPED = 10;
const LINES_BETWEEN = 7;
/** Words of code: letters are looked up for completion, signs are not. */
const WORDS = " + alpha - beta * gamma + total - value * delta";

/** A program of 2,000 lines that a person could have written. */
export function createProgram(): string {
  const lines: string[] = [];
  for (let step = 1; lines.length < LINES - 5; step += 1)
    lines.push(
      `def step_${step}(value, total=${step}):`,
      `    """Adds what step ${step} has to add."""`,
      `    alpha = value + ${step}`,
      `    beta = alpha * total - ${step}`,
      "    return alpha + beta",
      "",
    );
  while (lines.length < LINES) lines.push(`# line ${lines.length + 1}`);
  return lines.join("\n");
}

/**
 * Types at the ends of lines in the middle of the file that is open, `characters` in all. `paced`: each key as soon as the browser has
 * taken the one before; otherwise all keys of a line at once. Then compares what the service has saved with what it should have.
 */
export async function measureTyping(
  page: Page,
  given: { text: string; characters: number; paced: boolean; readSaved: () => Promise<string> },
): Promise<Typing> {
  const { text, characters, paced } = given;
  const perLine = characters / LINES_TYPED;
  const typed = WORDS.repeat(Math.ceil(perLine / WORDS.length)).slice(0, perLine);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  for (let screen = 0; screen < 20; screen += 1) await page.keyboard.press("PageDown");
  await page.evaluate(WATCH_KEYS);
  const session = await page.context().newCDPSession(page);
  const startedAt = performance.now();
  let seconds = 0;
  for (let line = 0; line < LINES_TYPED; line += 1) {
    for (let down = 0; down < LINES_BETWEEN; down += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("End");
    const since = performance.now();
    await typeLine(session, typed, paced);
    seconds += (performance.now() - since) / 1000;
    // What is offered to complete the last word would take the arrow keys.
    await page.keyboard.press("Escape");
  }
  const { keys, tasks } = await page.evaluate<{ keys: number[]; tasks: number[] }>(READ_KEYS);
  await session.detach();
  const wrongLines = await waitForText(given.readSaved, { text, typed, until: startedAt + WAIT_MS });
  const longestTaskMs = Math.round(Math.max(0, ...tasks));
  return { characters, wrongLines, seconds, keyToPaint: toFigure(keys), longTasks: tasks.length, longestTaskMs };
}

async function typeLine(session: CDPSession, text: string, paced: boolean): Promise<void> {
  const sent: Promise<unknown>[] = [];
  for (const character of text) {
    const down = session.send("Input.dispatchKeyEvent", { type: "keyDown", text: character, key: character });
    const up = session.send("Input.dispatchKeyEvent", { type: "keyUp", key: character });
    if (paced) await Promise.all([down, up]);
    else sent.push(down, up);
  }
  await Promise.all(sent);
}

/** Waits until what is saved is what was typed; answers how many lines are not, if that does not come. */
async function waitForText(
  readSaved: () => Promise<string>,
  wanted: { text: string; typed: string; until: number },
): Promise<number> {
  for (;;) {
    const wrong = countWrongLines(wanted.text, await readSaved(), wanted.typed);
    if (wrong === 0 || performance.now() > wanted.until) return wrong;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Lines that are neither as they were nor one of those with what was typed at their end, and such as are missing. */
function countWrongLines(before: string, after: string, typed: string): number {
  const [was, is] = [before.split("\n"), after.split("\n")];
  const changed = is.filter((line, index) => line !== was[index]);
  const good = is.filter((line, index) => line === `${was[index]}${typed}`).length;
  return changed.length - good + Math.abs(LINES_TYPED - good) + Math.abs(was.length - is.length);
}
