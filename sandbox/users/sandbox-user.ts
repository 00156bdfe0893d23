import type { Writable } from "node:stream";
import type { User } from "../input-files.ts";
import type { NetworkPlace, NetworkSlot } from "../network/network.ts";
import { createDirectReach, type Reach } from "./reach.ts";

/** Whom the kernel takes a sandbox for. */
export interface SandboxUser {
  readonly reach: Reach;
  /** Returns what is put before a command to run it as this user; in the network of a slot or where links come later. */
  enter(place?: NetworkPlace & Partial<Pick<NetworkSlot, "namespace">>): Promise<readonly string[]>;
  /** Whether the process must be in its cgroup before it becomes this user: version 1 takes our own processes only. */
  readonly needsGate: boolean;
  /** Gives it back; nothing of it must run any more, and nothing be left that belongs to it. */
  release(): void;
}

/** The one user that all sandboxes share where they cannot have users of their own. */
export function createSharedUser(user: User): SandboxUser {
  return {
    reach: createDirectReach(user),
    enter: async (place) => place?.enter ?? [],
    needsGate: false,
    release: () => undefined,
  };
}

/** Returns a command that starts nothing before `openGate` was called with the stream of this descriptor. */
export function behindGate(descriptor: number, command: readonly string[]): string[] {
  return ["/bin/sh", "-c", `read -r go <&${descriptor} && exec "$@" ${descriptor}<&-`, "sh", ...command];
}

/** Lets the process behind a gate go on. */
export function openGate(stream: unknown): void {
  const gate = stream as Writable;
  gate.on("error", () => undefined); // It died; its exit shows that.
  gate.end("go\n");
}
