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
  // Not its innerWidth: a phone zooms out until as much as it can show of a page that is too wide.
  const width = page.viewportSize()?.width ?? 0;
  const overflow = (await page.evaluate<number>("document.documentElement.scrollWidth")) - width;
  return overflow > 0 ? [`${overflow} px wider than the window`] : [];
}

/** What is cut off at its side and has to be scrolled there, such as a table that is too wide. Code and logs are wider than pages. */
export function findCut(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`
    [...document.querySelectorAll("main *")]
      .filter((box) => box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX))
      .filter((box) => !box.closest(".cm-editor, pre, [aria-label='Lines of the log']"))
      .map((box) => box.innerText.slice(0, 40) + " is " + (box.scrollWidth - box.clientWidth) + " px wider than its place")`);
}

/**
 * What fingers are to hit that is smaller than 40 pixels either way, by what is really there: a link may be as large as its row, a box take
 * more than it shows. Links within a text are as high as its lines, which cannot be otherwise.
 */
export function findSmallTargets(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(FIND_SMALL);
}

/** Whether points 19 pixels from the middle of each belong to it, to what is in it, or to its label. */
const FIND_SMALL = `(() => {
  const found = [];
  const kinds = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=treeitem], [role=option], [role=menuitem]";
  for (const target of document.querySelectorAll(kinds)) {
    if (!target.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || target.closest(".skip-link, [inert], [aria-hidden=true]")) continue;
    if (target.disabled || (target.matches("a") && getComputedStyle(target).display === "inline" && getComputedStyle(target, "::after").position !== "absolute")) continue;
    target.scrollIntoView({ block: "center", inline: "center" });
    const box = target.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const own = [target, ...(target.labels ?? [])];
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const misses = [[0, -19], [0, 19], [-19, 0], [19, 0]].filter(([right, down]) => {
      const there = document.elementFromPoint(x + right, y + down);
      return there !== null && !own.some((one) => one.contains(there));
    });
    if (misses.length > 0) found.push(target.outerHTML.slice(0, 160) + " is " + Math.round(box.width) + " by " + Math.round(box.height));
  }
  scrollTo(0, 0);
  return found;
})()`;
