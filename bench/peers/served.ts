import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import type { DatabaseAddress } from "../../db/connect.ts";
import { install, type Peer, type ProgramName, type Setting } from "./peer.ts";

const SERVE = fileURLToPath(new URL("./serve.js", import.meta.url));
const START_MAX_MS = 120_000;
/** A call that has not ended by then is a failure of the peer. */
const CALL_MAX_MS = 30_000;
/**
 * Restate's server asks for its latest release at each start, without a setting against it. No name resolves for a peer, so
 * that it reaches nobody.
 */
const WITHOUT_NAMES = 'mount --bind /dev/null /etc/resolv.conf && exec "$0" "$@"';

export interface Serving {
  /** What answers `POST {"program", "value"}` with `{"answer"}`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** What an engine is given in its own process. */
export interface ServeContext {
  readonly setting: Setting;
  /** Loads a package that `install` has put into the peer's folder. */
  readonly load: <Package>(name: string) => Package;
  /** A PostgreSQL of the peer's own, with the settings that Treadle's has; only where `database` is true. */
  readonly database: DatabaseAddress | undefined;
}

/** A peer in a Node.js process of its own, with a PostgreSQL below it where it wants one. */
export interface ServedPeer extends Peer {
  readonly database: boolean;
  serve(context: ServeContext): Promise<Serving>;
}

/** Makes a peer of its own part: which npm packages at which version, and how to serve a call. */
export function servedPeer(
  own: Omit<ServedPeer, "start" | "database"> & {
    /** The file's name in `adapters/`, without its ending. */
    readonly file: string;
    readonly database?: boolean;
    /** From npm, as `name@version`. */
    readonly packages?: readonly string[];
  },
): ServedPeer {
  const { packages = [], file, database = false } = own;
  const installPackages = (folder: string) =>
    install("npm", ["install", "--ignore-scripts", "--no-save", "--prefix", folder, ...packages], folder);
  return {
    install: installPackages,
    ...own,
    database,
    start: (setting) => startServed(file, setting),
  };
}

async function startServed(file: string, setting: Setting) {
  const asUser = process.getuid?.() === 0 ? [] : ["--map-current-user", "--keep-caps"];
  const command = ["sh", "-c", WITHOUT_NAMES, process.execPath, SERVE, file, JSON.stringify(setting)];
  const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
  // A group of its own: what it has started ends with it where it cannot be asked to stop.
  const child = spawn("unshare", [...asUser, "--mount", ...command], { stdio: [...stdio], detached: true });
  const url = await waitForAddress(child).catch((error: Error) => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    throw error;
  });
  const agent = new Agent({ headersTimeout: CALL_MAX_MS, bodyTimeout: CALL_MAX_MS });
  return {
    pid: child.pid,
    async call(program: ProgramName, value: string) {
      const { statusCode, body } = await request(url, {
        method: "POST",
        dispatcher: agent,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ program, value }),
      });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`${file} answered ${statusCode}: ${text.slice(0, 300)}`);
      return async () => (JSON.parse(text) as { answer: string }).answer;
    },
    async stop() {
      await agent.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.send("stop");
      await ended;
    },
  };
}

async function waitForAddress(child: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(START_MAX_MS);
  const ended = once(child, "exit", { signal }).then(([code]) => {
    throw new Error(`It ended with ${code} before it could be called.`);
  });
  const [message] = (await Promise.race([once(child, "message", { signal }), ended])) as [{ url: string }];
  ended.catch(() => {}); // its time has passed, or it was stopped
  return message.url;
}
