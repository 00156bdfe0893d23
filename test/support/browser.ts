import type { Browser, BrowserContext, Page } from "playwright-core";
import { WAIT_MS } from "../../bench/browser.ts";

export { fillSignIn, openBrowser, ownerOf, signIn } from "../../bench/browser.ts";

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
