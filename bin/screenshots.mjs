import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { call, makeThings } from "./screenshot-things.mjs";

const CHECKOUT = dirname(dirname(fileURLToPath(import.meta.url)));
const EXAMPLES = "hello,merge-files,nightly";
/** A window, and a phone: its fingers need more room than a mouse, and its page is as wide as its screen. */
const SCREENS = [
  { viewport: { width: 1440, height: 900 } },
  { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];
const READY_MS_MAX = 600_000;
/** What is on its way has come, and nothing moves. */
const SETTLED_MS = 800;
/** All calls of a page but the one that says who is signed in. */
const BUT_SESSION = /\/api\/(?!session$)/;
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

const BROKEN = {
  error: "Error",
  message: "The service could not do this. Try again; if it stays so, tell the operator.",
};

function listPages({ workflows }, things) {
  const workflow = (name) => `/workflows/${workflows[name].workflowId}`;
  const [own, empty] = [`/workflows/${things.workflowId}`, `/workflows/${things.emptyId}`];
  return {
    workflows: "/",
    "workflows-none": "/?search=nothing+is+called+this",
    code: `${own}/code?file=main.py`,
    "code-problems": `${own}/code?file=config.yaml`,
    run: `${workflow("hello")}/run`,
    "run-files": `${workflow("merge-files")}/run`,
    "run-json": `${workflow("nightly")}/run`,
    "run-again": `${workflow("hello")}/run?rerun=${things.executionId}`,
    "run-draft": `${workflow("hello")}/run?draft=1`,
    "run-draft-broken": `${own}/run?draft=1`,
    "run-empty": `${empty}/run`,
    api: `${workflow("hello")}/api`,
    "api-replaced-key": `/workflows/${things.packaged.workflowId}/api`,
    "api-empty": `${empty}/api`,
    schedule: `${own}/schedule`,
    "schedule-none": `${workflow("hello")}/schedule`,
    "schedule-empty": `${empty}/schedule`,
    "workflow-runs": `${workflow("hello")}/runs`,
    "workflow-runs-empty": `${empty}/runs`,
    commits: `${own}/commits`,
    "commits-compared": `${own}/commits?from=${things.first}&to=${things.second}`,
    "commits-built": `/workflows/${things.packaged.workflowId}/commits?to=${things.packaged.commitId}`,
    "commits-empty": `${empty}/commits`,
    overview: `${workflow("hello")}/overview`,
    "overview-failures": `${own}/overview`,
    "overview-empty": `${empty}/overview`,
    settings: `${own}/settings`,
    "code-of-commit": `${own}/code?commit=${things.first}&file=main.py&line=7`,
    runs: "/executions",
    "runs-none": "/executions?text=nothing+has+this",
    "a-run": `/executions/${things.executionId}`,
    "a-run-failed": `/executions/${things.failedId}`,
    "a-run-with-documents": `/executions/${things.documentsId}`,
    "a-run-with-files": `/executions/${things.withFilesId}`,
    credits: "/account",
    members: "/account/members",
    secrets: "/account/secrets",
    "settings-values": `${workflow("hello")}/settings`,
    notices: "/account/notices",
    tokens: "/account/tokens",
    security: "/account/security",
    hosts: "/account/hosts",
    lost: "/there/is/no/such/page",
    "lost-workflow": "/workflows/wf_00000000000000000000000000/run",
  };
}

/** Dialogs and what else is on no page of its own: where it is, and how one gets there. */
function listStates({ workflows }, things) {
  const press = (name) => (page) => page.getByRole("button", { name }).first().click();
  // On phones the files are out of sight until they are asked for.
  const amongFiles = (act) => async (page) => {
    const files = page.getByRole("button", { name: "Files", exact: true });
    if (await files.isVisible()) await files.click();
    await act(page);
  };
  const own = `/workflows/${things.workflowId}`;
  return {
    device: [
      "/",
      async (page) => {
        const { userCode } = await call(page, "/api/device-codes", { name: "ada-laptop" });
        await page.goto(`/device#${userCode}`);
        await page.getByRole("button", { name: "Allow" }).waitFor();
      },
    ],
    palette: ["/", (page) => page.keyboard.press("Control+k")],
    keys: ["/", (page) => page.keyboard.press("Shift+?")],
    "new-workflow": ["/", press("New workflow")],
    "colours-menu": ["/", press(/^Colours/)],
    "code-menu": [`${own}/code?file=main.py`, amongFiles(press("More about files"))],
    "code-moved": [`${own}/code?file=main.py`, press("Show what changed")],
    "commit-dialog": [
      `/workflows/${things.emptyId}/code?file=main.py`,
      (page) => page.keyboard.press("Control+Shift+Enter"),
    ],
    "commit-changes": [`/workflows/${things.slowId}/code?file=main.py`, press("Commit")],
    "restore-dialog": [`${own}/commits`, press(/^Restore/)],
    "pause-dialog": [`${own}/schedule`, press("Pause")],
    "new-secret": ["/account/secrets", press("New secret")],
    "secret-removal": ["/account/secrets", press(/^Remove/)],
    "variable-history": ["/account/secrets", press("History of LEVEL")],
    "new-place": ["/account/notices", press("New place")],
    "rotate-dialog": [`${own}/api`, press("Regenerate")],
    "enable-dialog": [`/workflows/${workflows.hello.workflowId}/api`, press("Disable")],
    "delete-dialog": [
      `${own}/code?file=main.py`,
      amongFiles((page) => page.getByRole("treeitem", { name: "main.py" }).press("Delete")),
    ],
    "schedule-builder": [`/workflows/${workflows.hello.workflowId}/schedule`, press("New schedule")],
    "schedule-review": [
      `/workflows/${workflows.hello.workflowId}/schedule`,
      async (page) => {
        await press("New schedule")(page);
        await page.getByRole("button", { name: "Review the change" }).click();
      },
    ],
    "backfill-dialog": [`${own}/schedule`, press("Run missed times")],
    "delete-workflow-dialog": [`${own}/settings`, press("Delete workflow")],
    "remove-dialog": ["/account/members", press(/^Remove/)],
  };
}

/** What is there for moments only: an execution under way, what has not come yet, and what does not come. */
async function takeWaiting(page, things, take) {
  const { executionId } = await call(
    page,
    `/api/workflows/${things.slowId}/execute`,
    {},
    { headers: { prefer: "respond-async" } },
  );
  await page.goto(`/executions/${executionId}`);
  await page.getByText("step 3").waitFor();
  await take("a-run-going", true);
  await page.getByRole("button", { name: "Cancel run" }).click();
  const pages = { list: "/", form: `/workflows/${things.workflowId}/run`, runs: "/executions", credits: "/account" };
  for (const [name, path] of Object.entries(pages)) {
    await page.route(BUT_SESSION, () => undefined);
    await page.goto(path);
    await take(`loading-${name}`);
    await page.unrouteAll();
    await page.route(BUT_SESSION, (route) => route.fulfill({ status: 400, json: BROKEN }));
    await page.goto(path);
    await take(`broken-${name}`);
    await page.unrouteAll();
  }
}

/** Takes over what was committed meanwhile, so that a file was changed twice. That can be done once; the service keeps it in mind. */
async function takeConflicts(page, things, folder) {
  const path = `/workflows/${things.workflowId}/code?file=main.py`;
  await page.goto(path);
  await page.getByRole("button", { name: "Take it over" }).click();
  const compare = page.getByRole("button", { name: "Compare main.py" });
  for (const colorScheme of ["light", "dark"]) {
    for (const { viewport } of SCREENS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await page.goto(path);
      await compare.waitFor();
      await page.screenshot({ path: join(folder, `conflict-${colorScheme}-${viewport.width}.png`) });
      await compare.click();
      await sleep(SETTLED_MS);
      await page.screenshot({ path: join(folder, `conflict-dialog-${colorScheme}-${viewport.width}.png`) });
    }
  }
}

async function signIn(page, { email, password }) {
  await page.getByLabel("Email address").fill(email);
  await page.locator("input[name=password]").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
}

/** Pictures of the pages and states that are named, by somebody who is signed in. */
async function takeNamed(page, { ready, things, take, names }) {
  for (const name of names) {
    const [path, act] = listStates(ready, things)[name] ?? [listPages(ready, things)[name]];
    if (path === undefined) throw new Error(`There is no page ${name}.`);
    await page.goto(path);
    if (act === undefined) await take(name, true);
    else {
      await sleep(SETTLED_MS);
      await act(page);
      await take(name);
    }
  }
}

/** Pictures of what everybody sees who has not signed in. */
async function takeSignIn(page, take) {
  await page.goto("/sign-in?ended=1");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await take("sign-in-ended");
  await page.goto("/");
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  await take("sign-in");
}

async function takeEverything(page, { ready, things, take }) {
  await page.goto(things.joining);
  await take("join");
  for (const [name, path] of Object.entries(listPages(ready, things))) {
    await page.goto(path);
    await take(name, true);
  }
  for (const [name, [path, act]] of Object.entries(listStates(ready, things))) {
    await page.goto(path);
    await sleep(SETTLED_MS);
    await act(page).catch((error) => report(`${name}: ${error.message.split("\n")[0]}`));
    await take(name);
  }
  await takeWaiting(page, things, take);
}

/** Whoever chooses the colours by the system sees these, and nothing of ours. */
async function takeForcedColors(page, { ready, things, take }) {
  await page.emulateMedia({ forcedColors: "active" });
  for (const name of ["workflows", "code-problems", "run", "a-run-failed", "schedule", "credits"]) {
    await page.goto(listPages(ready, things)[name]);
    await take(`${name}-forced`, true);
  }
  await page.emulateMedia({ forcedColors: null });
}

async function takeAway(page, context, take) {
  await page.goto("/");
  await page.getByRole("link", { name: "Every minute" }).waitFor();
  await context.setOffline(true);
  await page.getByText("The service does not answer").waitFor();
  await take("away");
}

async function takeAll(browser, ready, { folder, only }) {
  let things;
  for (const colorScheme of ["light", "dark"]) {
    for (const screen of SCREENS) {
      const { viewport } = screen;
      const context = await browser.newContext({
        baseURL: ready.url,
        ignoreHTTPSErrors: true,
        reducedMotion: "reduce",
        colorScheme,
        ...screen,
      });
      const page = await context.newPage();
      const take = async (name, whole = false) => {
        await sleep(SETTLED_MS);
        // A picture of more than the window would make it one without fingers: the window is made as long as its page.
        const height = whole ? await page.evaluate("document.documentElement.scrollHeight") : viewport.height;
        if (height > viewport.height) await page.setViewportSize({ width: viewport.width, height });
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${viewport.width}.png`) });
        if (height > viewport.height) await page.setViewportSize(viewport);
      };
      if (only.length === 0) await takeSignIn(page, take);
      else await page.goto("/");
      await signIn(page, ready.signIn);
      things ??= await makeThings(page, ready);
      if (only.length > 0) await takeNamed(page, { ready, things, take, names: only });
      else {
        await takeEverything(page, { ready, things, take });
        if (colorScheme === "dark" && screen === SCREENS.at(-1)) await takeConflicts(page, things, folder);
        if (colorScheme === "light") await takeForcedColors(page, { ready, things, take });
        await takeAway(page, context, take);
      }
      await context.close();
      report(`${colorScheme}, ${viewport.width} px wide: done.`);
    }
  }
}

/** Writes every page of the editor, or those of `only`, in light and dark, wide and narrow, into `folder`. */
async function takeScreenshots(folder, only) {
  await mkdir(folder, { recursive: true });
  const data = await mkdtemp(join(tmpdir(), "treadle-screenshots-"));
  const { child, ready } = await startService(join(data, "data"));
  try {
    const executablePath = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    try {
      await takeAll(browser, ready, { folder, only });
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

await takeScreenshots(resolve(process.argv[2] ?? join(tmpdir(), "treadle-pages")), process.argv.slice(3));
