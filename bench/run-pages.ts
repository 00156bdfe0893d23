import { mkdir, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { openBrowser, ownerOf, signIn } from "./browser.ts";
import { formatMs } from "./figures.ts";
import { createProgram, type FirstPage, measureFirstPage, measureTyping, newContext, type Typing } from "./pages.ts";
import { makeDataDir, removeDataDir, startService } from "./service.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const ROUNDS = Number(process.env.TREADLE_BENCH_ROUNDS ?? 15);
const CHARACTERS = Number(process.env.TREADLE_BENCH_CHARACTERS ?? 1_000);
const INTERACTIVE_MS_MAX = 1_000;
const CONFIG = "triggers:\n  api: { enabled: true }\n";

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Calls the service as the pages of whoever is signed in there. */
async function call<T>(page: Page, method: string, path: string, data?: object): Promise<T> {
  const { origin } = new URL(page.url());
  const answer = await page.request.fetch(path, {
    method,
    headers: { origin },
    ...(data === undefined ? {} : { data }),
  });
  if (!answer.ok()) throw new Error(`${method} ${path} was answered ${answer.status()}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** A workflow of one's own whose program has 2,000 lines, open in the editor. */
async function openProgram(page: Page, text: string): Promise<() => Promise<string>> {
  const { workflowId } = await call<{ workflowId: string }>(page, "POST", "/api/workflows", { name: "Long" });
  const draft = `/api/workflows/${workflowId}/draft`;
  const changes = [
    { path: "config.yaml", text: CONFIG },
    { path: "main.py", text },
  ];
  await call(page, "PATCH", draft, { version: 0, changes });
  await page.goto(`/workflows/${workflowId}/code?file=main.py`);
  await page.getByRole("textbox", { name: "main.py" }).waitFor();
  return async () => {
    const { files } = await call<{ files: { path: string; text: string }[] }>(page, "GET", draft);
    return files.find(({ path }) => path === "main.py")?.text ?? "";
  };
}

function sayFirstPage(what: string, { interactive, firstPaint, kilobytes }: FirstPage): boolean {
  const isGood = interactive.p50 <= INTERACTIVE_MS_MAX;
  say(`${what}, interactive: ${formatMs(interactive)}${isGood ? "" : "  ← MISSED"}`);
  say(`  first paint: ${formatMs(firstPaint)}; ${kilobytes} kB came`);
  return isGood;
}

function sayTyping(what: string, typing: Typing): boolean {
  const { characters, wrongLines, seconds, keyToPaint, longTasks, longestTaskMs } = typing;
  const isGood = wrongLines === 0;
  const verdict = isGood ? "nothing was dropped" : `${wrongLines} lines are wrong  ← MISSED`;
  say(`${what}: ${characters} in ${seconds.toFixed(1)} s, ${verdict}`);
  say(`  key to paint: ${formatMs(keyToPaint)}; ${longTasks} long tasks, the longest ${longestTaskMs} ms`);
  return isGood;
}

const at = new Date().toISOString();
/** Of the last minute: what others do on the machine is in every figure. */
const load = { before: loadavg()[0], after: Number.NaN };
const dataDir = await makeDataDir();
const browser = await openBrowser(); // Without one there is nothing to start.
const service = await startService({ dataDir });
try {
  const { url } = service.ready;
  say(`Goals: a first page interactive in ${INTERACTIVE_MS_MAX} ms in the median; typing without dropped input.`);
  const signInPage = await measureFirstPage(browser, {
    url,
    path: "/",
    selector: "input[name=password]",
    rounds: ROUNDS,
  });
  const context = await newContext(browser, url);
  const page = await context.newPage();
  await signIn(page, ownerOf(service.ready));
  const workflows = await measureFirstPage(browser, {
    url,
    path: "/",
    selector: 'main a[href^="/workflows/wf_"]',
    rounds: ROUNDS,
    storageState: await context.storageState(),
  });
  const text = createProgram();
  const type = async (paced: boolean): Promise<Typing> =>
    measureTyping(page, { text, characters: CHARACTERS, paced, readSaved: await openProgram(page, text) });
  const typing = { paced: await type(true), atOnce: await type(false) };

  const isGood = [
    sayFirstPage("Sign-in page", signInPage),
    sayFirstPage("List of workflows, signed in", workflows),
    sayTyping("Typing, each key when the one before was taken", typing.paced),
    sayTyping("Typing, a line of keys at once", typing.atOnce),
  ].every(Boolean);
  load.after = loadavg()[0] ?? Number.NaN;
  say(`Load of the machine: ${load.before?.toFixed(1)} before, ${load.after.toFixed(1)} after`);
  const machine = `${availableParallelism()} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const results = { at, machine, load, browser: browser.version(), rounds: ROUNDS, signInPage, workflows, typing };
  const file = `bench/results/${at.slice(0, 10)}-pages.json`;
  await mkdir(join(ROOT, "bench/results"), { recursive: true });
  await writeFile(join(ROOT, file), `${JSON.stringify(results)}\n`);
  say(`Raw numbers: ${file}`);
  process.exitCode = isGood ? 0 : 1;
} finally {
  await browser.close();
  await service.stop();
  await removeDataDir(dataDir);
}
