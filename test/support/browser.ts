import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { WAIT_MS } from "../../bench/browser.ts";

export { FEATURES_OFF, fillSignIn, openBrowser, ownerOf, signIn } from "../../bench/browser.ts";

const LOOK_MS = 100;

/** What a browser keeps of somebody who is signed in. */
export type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

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
  options: {
    readonly dark?: boolean;
    readonly width?: number;
    readonly touch?: boolean;
    readonly session?: Session;
  } = {},
): Promise<Visit> {
  const context = await browser.newContext({
    baseURL: service.url,
    ignoreHTTPSErrors: true,
    ...(options.session === undefined ? {} : { storageState: options.session }),
    colorScheme: options.dark === true ? "dark" : "light",
    viewport: { width: options.width ?? 1280, height: 800 },
    // Fingers in place of a mouse: pages give them more room.
    ...(options.touch === true ? { hasTouch: true, isMobile: true } : {}),
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
      // What a page asks for at this moment has nobody to answer it any more.
      for (const open of context.pages()) await open.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
      const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
      if (unexpected.length > 0) throw new Error(`The pages had problems:\n${unexpected.join("\n")}`);
    },
  };
}

/** What an element says of itself: `scrollTop`, for example. */
export function readProperty(of: Locator, name: string): Promise<unknown> {
  return of.evaluate((element: Record<string, unknown>, property) => element[property], name);
}

/** What an element looks like: its `color`, for example, as the browser has computed it. */
export function readStyle(of: Locator, name: string): Promise<string> {
  return of.evaluate(
    (element: { computedStyleMap(): { get(name: string): unknown } }, property) =>
      String(element.computedStyleMap().get(property)),
    name,
  );
}

/** Waits until it is so; for what no locator can wait for. */
export async function waitUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + WAIT_MS; Date.now() < until; await sleep(LOOK_MS)) if (await isSo()) return;
  throw new Error(`It never came to this: ${what}.`);
}
