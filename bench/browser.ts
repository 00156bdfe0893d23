import { type Browser, chromium, type Page } from "playwright-core";
import { listPrograms } from "../src/setup/programs.ts";
import type { ReadyFile } from "../src/start/ready-file.ts";

/** For what hangs, as jest's own bound: how long a page takes is the machine's affair. */
export const WAIT_MS = 120_000;
const COMMANDS = ["chromium", "chromium-browser", "google-chrome"];
/** What Playwright switches off. A list of ours replaces its own, so it stands here; `test/browser/size.test.ts` compares them. */
const OFF_BY_PLAYWRIGHT = [
  [
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
  ],
  [
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
  ],
  ["TcpPortRandomizationWin", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"],
  ["msForceBrowserSignIn", "msEdgeUpdateLaunchServicesPreferredVersion"],
].flat();
/** Two pages of the browser's own below the address bar, which nobody sees: a second of processor time for each new profile. */
const OFF_BY_US = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];
/** What of Chromium is switched off. */
export const FEATURES_OFF = [...OFF_BY_PLAYWRIGHT, ...OFF_BY_US];
const FLAGS = [
  "--no-sandbox", // tests run as root, too; they open pages of ours only
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${FEATURES_OFF.join(",")}`,
];

/** The system's Chromium. The caller closes it. Its pages have no scroll bars unless `hasScrollBars`. */
export async function openBrowser({ hasScrollBars = false } = {}): Promise<Browser> {
  const ignoreDefaultArgs = hasScrollBars ? ["--hide-scrollbars"] : [];
  for (const command of COMMANDS) {
    const [executablePath] = await listPrograms(command, process.env.PATH);
    if (executablePath !== undefined)
      return chromium.launch({ executablePath, args: FLAGS, ignoreDefaultArgs, timeout: WAIT_MS, handleSIGINT: false });
  }
  throw new Error("There is no Chromium on this machine. Install it: apt-get install chromium");
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
