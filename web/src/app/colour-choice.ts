import { localStorageColorSchemeManager, type MantineColorScheme, type MantineColorSchemeManager } from "@mantine/core";

const COOKIE = "treadle-colours";
const YEAR_SECONDS = 31_536_000;
const kept = localStorageColorSchemeManager();

/**
 * Keeps the chosen colours for all tabs, and sends them to the service in a cookie. The service writes them into the next
 * page, which then has them before any script runs.
 */
export const colourChoice: MantineColorSchemeManager = {
  ...kept,
  set(value) {
    kept.set(value);
    tell(value);
  },
};

/** Nothing is said of the system's own: the service does not know them, the page's styles do. */
function tell(value: MantineColorScheme): void {
  const [text, seconds] = value === "auto" ? ["", 0] : [value, YEAR_SECONDS];
  // Nothing else sets cookies here, and the newer way is not in every browser.
  // oxlint-disable-next-line unicorn/no-document-cookie
  document.cookie = `${COOKIE}=${text}; Path=/; Max-Age=${seconds}; Secure; SameSite=Lax`;
}

// Who chose before may have lost the cookie since.
tell(kept.get("auto"));
