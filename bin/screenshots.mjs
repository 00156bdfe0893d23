import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const CHECKOUT = dirname(dirname(fileURLToPath(import.meta.url)));
const EXAMPLES = "hello,merge-files,nightly";
const WIDTHS = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];
const READY_MS_MAX = 600_000;
/** What is on its way has come, and nothing moves. */
const SETTLED_MS = 800;
const report = (line) => void process.stderr.write(`${line}\n`);

/** Starts the service with data of its own, and answers what `ready.json` says. */
async function startService(dataDir) {
  const env = { ...process.env, TREADLE_PORT: "0", TREADLE_DATA_DIR: dataDir, TREADLE_EXAMPLES: EXAMPLES };
  const child = spawn(process.execPath, [join(CHECKOUT, "bin/treadle"), "start"], { env, stdio: "ignore" });
  for (const until = Date.now() + READY_MS_MAX; Date.now() < until && child.exitCode === null; await sleep(200)) {
    const text = await readFile(join(dataDir, "ready.json"), "utf8").catch(() => undefined);
    if (text !== undefined) return { child, ready: JSON.parse(text) };
  }
  child.kill();
  throw new Error("The service did not become ready. Start it by hand (npm start) to see why.");
}

/** Runs what the pages show: successes, a failure, and one whose log is long. Answers the execution to look at. */
async function runExamples(page, { workflows }) {
  const execute = (name, inputs) =>
    page.evaluate(
      async ([id, body]) => {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(`/api/workflows/${id}/execute`, { method: "POST", headers, body });
        return (await answer.json()).executionId;
      },
      [workflows[name].workflowId, JSON.stringify(inputs)],
    );
  for (const name of ["Ada", "Grace", "Linus"]) await execute("hello", { name, times: 3 });
  await execute("nightly", { team: "nobody" });
  return execute("hello", { name: "Ada", times: 12, loud: true });
}

function listPages({ workflows }, executionId) {
  const workflow = (name) => `/workflows/${workflows[name].workflowId}`;
  return {
    workflows: "/",
    code: `${workflow("hello")}/code`,
    run: `${workflow("hello")}/run`,
    "run-files": `${workflow("merge-files")}/run`,
    "run-json": `${workflow("nightly")}/run`,
    "run-again": `${workflow("hello")}/run?rerun=${executionId}`,
    api: `${workflow("hello")}/api`,
    schedule: `${workflow("nightly")}/schedule`,
    "workflow-runs": `${workflow("hello")}/runs`,
    commits: `${workflow("hello")}/commits`,
    runs: "/executions",
    "runs-none": "/executions?text=nothing+has+this",
    "a-run": `/executions/${executionId}`,
    credits: "/account",
    members: "/account/members",
    tokens: "/account/tokens",
    security: "/account/security",
    lost: "/there/is/no/such/page",
  };
}

async function takeAll(browser, ready, folder) {
  let executionId;
  for (const colorScheme of ["light", "dark"]) {
    for (const viewport of WIDTHS) {
      const context = await browser.newContext({
        ...{ baseURL: ready.url, ignoreHTTPSErrors: true, reducedMotion: "reduce" },
        ...{ colorScheme, viewport },
      });
      const page = await context.newPage();
      const take = async (name) => {
        await sleep(SETTLED_MS);
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${viewport.width}.png`) });
      };
      await page.goto("/");
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await take("sign-in");
      await page.getByLabel("Email address").fill(ready.signIn.email);
      await page.locator("input[name=password]").fill(ready.signIn.password);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
      executionId ??= await runExamples(page, ready);
      await page.keyboard.press("Control+k");
      await take("palette");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "New workflow" }).click();
      await take("new-workflow");
      for (const [name, path] of Object.entries(listPages(ready, executionId))) {
        await page.goto(path);
        await take(name);
      }
      await context.close();
      report(`${colorScheme}, ${viewport.width} px wide: done.`);
    }
  }
}

/** Writes every page of the editor, in light and dark, wide and narrow, into `folder`. */
async function takeScreenshots(folder) {
  await mkdir(folder, { recursive: true });
  const data = await mkdtemp(join(tmpdir(), "treadle-screenshots-"));
  const { child, ready } = await startService(join(data, "data"));
  try {
    const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      await takeAll(browser, ready, folder);
    } finally {
      await browser.close();
    }
  } finally {
    child.kill();
    await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done()));
    await rm(data, { recursive: true, force: true });
  }
  report(`The pictures are in ${folder}.`);
}

await takeScreenshots(resolve(process.argv[2] ?? join(tmpdir(), "treadle-pages")));
