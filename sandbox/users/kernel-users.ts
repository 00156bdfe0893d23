import { chownSync, closeSync, existsSync, lstatSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../domain/message-of.ts";
import type { User } from "../input-files.ts";
import type { MeasureBounds, MeasuredOutputs } from "../outputs.ts";
import { HelperEndedError, type NamespaceHelper, startHelper } from "./namespace-helper.ts";
import { createHelperReach, type HelperReply } from "./reach.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** A helper that cannot start, as without memory, must not take a processor by trying. */
const RETRY_MS = 1_000;
/** The next one stands, inside of a namespace, for all who have no id in it. */
const IDS_MAX = 65_533;

/** Kernel users for sandboxes, which nobody else on this machine has. */
export interface KernelUsers {
  readonly firstId: number;
  readonly count: number;
  /** Gives a user whose last use is as long ago as can be. Throws when all are taken. */
  take(): SandboxUser;
  /** Returns what is put before a command to run it as the service's user with all rights over these users. */
  enterAsOwner(): Promise<string[]>;
  /** Makes all that is at a path the service's own. Nobody must be changing it. */
  takeBack(path: string): Promise<void>;
  /** Measures a tree of theirs that may be changing; see `measureOutputs`. */
  measure(path: string, bounds: MeasureBounds): Promise<MeasuredOutputs>;
  /** Returns why no sandbox can be started now, undefined when it can. */
  problem(): string | undefined;
  close(): Promise<void>;
}

export interface KernelUsersSettings {
  readonly firstId: number;
  readonly count: number;
  /** The unprivileged user of the service, where we are root. */
  readonly runAs: User | undefined;
  readonly python: string;
  /** Absolute path. */
  readonly nsenter: string;
  /** Maps ids 1 to `count` of the new namespace of a process to these users, and id 0 to the service's. */
  readonly giveMap: (pid: number) => Promise<void>;
}

/**
 * Makes the namespace that these users live in, and starts its helper, once more whenever that has ended. The namespace
 * belongs to the service's user, so that later on nobody needs to be root to use it, and ends with this process.
 */
export async function openKernelUsers(settings: KernelUsersSettings): Promise<KernelUsers> {
  const { firstId, count, nsenter } = settings;
  // A service that was root may be so no more.
  const findRunAs = () => (process.getuid?.() === 0 ? settings.runAs : undefined);
  const first = await startHelper(settings, settings);
  const namespace = openSync(`/proc/${first.pid}/ns/user`, "r");
  const helper = keepStarted(first, () => startHelper({ ...settings, runAs: findRunAs() }, { namespace }));
  const pool = createPool(Math.min(count, IDS_MAX));
  const handOver = (path: string) => {
    const owner = findRunAs();
    if (owner !== undefined && lstatSync(path).uid === 0) chownSync(path, owner.uid, owner.gid);
  };
  const ask = async (
    operation: string,
    request: Readonly<Record<string, unknown>>,
    isAgain = false,
  ): Promise<HelperReply> => {
    const process = await helper.current();
    try {
      return { value: await process.ask(operation, request), pid: process.pid };
    } catch (error) {
      // All that is asked can be asked again of the next one.
      if (!(error instanceof HelperEndedError) || isAgain) throw error;
      return ask(operation, request, true);
    }
  };
  const toNamespace = async () => `--user=/proc/${(await helper.current()).pid}/ns/user`;
  return {
    firstId,
    count,
    take() {
      const id = pool.take();
      const own = ["--setuid", String(id), "--setgid", String(id), "--"];
      return {
        reach: createHelperReach(ask, { id, uid: firstId + id - 1 }, handOver),
        needsGate: true,
        async enter(place) {
          const network = place?.namespace === undefined ? [] : [`--net=${place.namespace}`];
          return [nsenter, await toNamespace(), ...network, ...own];
        },
        release: () => pool.giveBack(id),
      };
    },
    enterAsOwner: async () => [nsenter, "--preserve-credentials", await toNamespace(), "--"],
    async takeBack(path) {
      if (!existsSync(path)) return;
      handOver(path);
      await ask("give", { path, to: 0 });
    },
    measure: async (path, bounds) => (await ask("measure", { path, ...bounds })).value as MeasuredOutputs,
    problem: helper.problem,
    async close() {
      await helper.close();
      closeSync(namespace);
    },
  };
}

/** Starts a helper again whenever it has ended. Those who ask meanwhile wait for the next one. */
function keepStarted(first: NamespaceHelper, start: () => Promise<NamespaceHelper>) {
  let helper = Promise.resolve(first);
  let problem: string | undefined;
  let closed = false;
  const follow = (process: NamespaceHelper): void => {
    void process.ended.then((said) => {
      if (closed) return;
      problem = `The helper process of sandboxes' users has ended and is started again: ${said}`;
      helper = startAgain();
      helper.catch(() => undefined); // Each caller gets the error.
    });
  };
  const startAgain = async (): Promise<NamespaceHelper> => {
    while (!closed) {
      try {
        const next = await start();
        problem = undefined;
        follow(next);
        return next;
      } catch (error) {
        problem = messageOf(error);
        await sleep(RETRY_MS, undefined, { ref: false });
      }
    }
    throw new Error("The sandbox is closed.");
  };
  follow(first);
  return {
    current: () => helper,
    problem: () => problem,
    async close(): Promise<void> {
      closed = true;
      await helper.then((process) => process.close()).catch(() => undefined);
    },
  };
}

/** Ids from 1, each given again only when all others have been. */
function createPool(count: number) {
  const free: number[] = [];
  const taken = new Set<number>();
  let fresh = 1;
  return {
    take(): number {
      const id = fresh <= count ? fresh++ : free.shift();
      if (id === undefined) throw new Error(`All ${count} kernel users for sandboxes are in use.`);
      taken.add(id);
      return id;
    },
    giveBack(id: number): void {
      if (taken.delete(id)) free.push(id);
    },
  };
}
