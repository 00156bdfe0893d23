import { spawn } from "node:child_process";

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: "open", linux: "xdg-open" };

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
