import type { Page } from "playwright-core";
import { findGrave, findOverflow } from "./accessibility.ts";

/** In which a run's page is looked at. */
export const LOOKS = [
  { name: "light", dark: false, width: 1280 },
  { name: "dark", dark: true, width: 1280 },
  { name: "dark on a phone", dark: true, width: 390 },
];

/** On the page of a run that wrote a log: opens all that is folded, and returns what keeps somebody out and what does not fit. */
export async function lookAtRun(page: Page): Promise<unknown[]> {
  await page.getByRole("heading", { name: "Log", exact: true }).waitFor();
  await page.locator("[data-index]").first().waitFor();
  const closed = page
    .getByRole("main")
    .getByRole("button", { expanded: false })
    .and(page.locator(":not([aria-haspopup])"));
  while ((await closed.count()) > 0) await closed.first().click();
  return [...(await findGrave(page)), ...(await findOverflow(page))];
}
