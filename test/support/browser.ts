import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import type { ReadyFile } from "../../src/ready-file.ts";
import { listPrograms } from "../../src/setup/programs.ts";

/** For what hangs, as jest's own bound: how long a page takes is the machine's affair. */
const WAIT_MS = 120_000;
const COMMANDS = ["chromium", "chromium-browser", "google-chrome"];
const FLAGS = [
  "--no-sandbox", // tests run as root, too; they open pages of ours only
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong on its pages so far: errors of the console, of scripts and of the policy, and calls of other hosts. */
  readonly problems: string[];
  /** Leaves out problems that the test makes on purpose. */
  expectProblems(pattern: RegExp): void;
  /** Ends it; fails when something went wrong that was not expected. */
  leave(): Promise<void>;
}

/** The system's Chromium. The caller closes it. */
export async function openBrowser(): Promise<Browser> {
  for (const command of COMMANDS) {
    const [executablePath] = await listPrograms(command, process.env.PATH);
    if (executablePath !== undefined)
      return chromium.launch({ executablePath, args: FLAGS, timeout: WAIT_MS, handleSIGINT: false });
  }
  throw new Error("There is no Chromium on this machine. Install it: apt-get install chromium");
}

/** A visitor with a profile of their own, at the service. */
export async function visit(
  browser: Browser,
  service: { readonly url: string },
  options: { readonly dark?: boolean; readonly width?: number } = {},
): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: service.url,
    ignoreHTTPSErrors: true,
    colorScheme: options.dark === true ? "dark" : "light",
    viewport: { width: options.width ?? 1280, height: 800 },
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(WAIT_MS);
  context.setDefaultNavigationTimeout(WAIT_MS);
  const problems: string[] = [];
  const expected: RegExp[] = [];
  const { host } = new URL(service.url);
  context.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  context.on("weberror", (error) => problems.push(`script: ${error.error().message}`));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.host !== host) problems.push(`another host: ${request.url()}`);
  });
  const page = await context.newPage();
  return {
    page,
    context,
    problems,
    expectProblems: (pattern) => void expected.push(pattern),
    async leave() {
      await context.close();
      const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
      if (unexpected.length > 0) throw new Error(`The pages had problems:\n${unexpected.join("\n")}`);
    },
  };
}

/** Who was made at the first start. */
export function ownerOf({ signIn: made }: Pick<ReadyFile, "signIn">): { email: string; password: string } {
  if (made?.password == null) throw new Error("The service made nobody to sign in as.");
  return { email: made.email, password: made.password };
}

/** Fills in the form of the sign-in, wherever it is shown, and sends it. */
export async function fillSignIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.getByLabel("Email address").fill(email);
  await page.locator("input[name=password]").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Signs in, and sees the first page. */
export async function signIn(page: Page, who: { email: string; password: string }): Promise<void> {
  await page.goto("/");
  await fillSignIn(page, who);
  await page.getByRole("heading", { name: "Workflows", level: 1 }).waitFor();
}
