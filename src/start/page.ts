import { spawn } from "node:child_process";

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", linux: "xdg-open" };

/** Returns whether a browser can be asked. On Linux that needs a display, unless `BROWSER` names a program. */
export function hasBrowser(env: Readonly<Record<string, string | undefined>>): boolean {
  return process.platform !== "linux" || Boolean(env["BROWSER"] || env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
}

/**
 * Asks the user's browser for a page, by the program that `BROWSER` names or that the system has for it. Does not wait, and
 * nothing follows when there is none: the address was printed.
 */
export function openPage(env: Readonly<Record<string, string | undefined>>, url: string): void {
  const program = env["BROWSER"] || (OPENERS[process.platform] ?? "xdg-open");
  const child = spawn(program, [url], { stdio: "ignore", detached: true, env: { ...env } });
  child.on("error", () => undefined);
  child.unref();
}
