import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const GRAVE = ["serious", "critical"];

/** What axe finds on the page that somebody could not get past. Scripts of tests are not the page's: its policy stays. */
export async function findGrave(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>(
    "axe.run(document, { resultTypes: ['violations'], elementRef: false })",
  );
  return violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ""))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html} ${any[0]?.message ?? ""}`).join("\n  ")}`);
}

/** That the page is wider than its window, where it is. */
export async function findOverflow(page: Page): Promise<string[]> {
  const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  return overflow > 0 ? [`${overflow} px wider than the window`] : [];
}
