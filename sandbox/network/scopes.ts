import { mkdirSync, rmSync } from "node:fs";
import { constants, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import { parseRange } from "../../domain/address-ranges.ts";
import type { Destination } from "../../domain/destinations.ts";
import { messageOf } from "../../domain/message-of.ts";
import type { AddressBook, Located } from "./address-book.ts";
import { planSlot } from "./plan.ts";
import type { Router } from "./router.ts";
import { type Passage, toScopeChange, toScopeRemoval, toScopeRules } from "./ruleset.ts";

const FOLDER = "hosts";
/** Of every sandbox; what follows is of the scope. */
const HOSTS_BEGIN = "127.0.0.1 localhost sandbox\n";
let scopesBefore = 0;

/** Returns which of these grants there still are. */
export type ListGrants = (ids: readonly string[]) => Promise<readonly string[]>;

/** What the links of one workflow let through: its destinations, and nothing else. */
export interface Scope {
  /** A file to show as `/etc/hosts`: the only names that a program there can look up. It changes with the addresses. */
  readonly hosts: string;
  /** Whether every destination is still granted. One that was taken away does not come back. */
  readonly isWhole: boolean;
  /** Where its destinations are, those that were taken away too. */
  locate(): Located[];
  /** To be called for a link of the confined group before anything uses it. Rejects where it fails: nothing passes it then. */
  enter(slot: number): Promise<void>;
  /** Takes a link out whose programs have ended. */
  leave(slot: number): Promise<void>;
  /** Lets nothing through any more, and forgets its links. */
  close(): Promise<void>;
}

export interface Scopes {
  /** Rejects where the rules cannot be made, or a grant is gone. */
  open(destinations: readonly Destination[]): Promise<Scope>;
  /** Asks for the grants and the addresses of all scopes again, and changes what differs. */
  refresh(): Promise<void>;
  /** Asks for the grants alone. */
  refreshGrants(): Promise<void>;
}

interface Opened {
  readonly number: number;
  readonly hosts: string;
  readonly slots: Set<number>;
  readonly named: readonly Destination[];
  /** Those of them that are left. */
  destinations: readonly Destination[];
  isWhole: boolean;
  rules: string;
  names: string | undefined;
}

/** Makes the folder of the scopes' files anew, at the start of a service. */
export function clearScopeFolder(dir: string): void {
  rmSync(join(dir, FOLDER), { recursive: true, force: true });
  mkdirSync(join(dir, FOLDER), { mode: 0o755 });
}

interface ScopesDeps {
  readonly router: Pick<Router, "changeRules">;
  readonly dir: string;
  readonly addresses: AddressBook;
  readonly listGrants: ListGrants;
  /** Called with each destination that a scope lost. Must not throw. */
  readonly onCut: (destination: Destination) => void;
  readonly onFailure: (reason: string) => void;
}

/** The scopes of one router. What cannot be changed any more is reported by `onFailure`. */
export function createScopes(deps: ScopesDeps): Scopes {
  const { router, addresses } = deps;
  const scopes = new Set<Opened>();
  const inTurn = createTurns();

  /** The generation ends where rules cannot be changed, rather than go on with old ones. */
  const rewrite = (wanted: readonly Opened[]) =>
    inTurn(async () => {
      for (const scope of wanted) if (scopes.has(scope)) await write(scope, deps);
    }).catch((error: unknown) => deps.onFailure(`The rules of a scope could not be changed: ${messageOf(error)}`));

  async function refreshGrants(only: readonly Opened[] = [...scopes]): Promise<void> {
    const ids = new Set(only.flatMap((scope) => scope.destinations.flatMap(({ grantId }) => grantId ?? [])));
    if (ids.size === 0) return;
    const granted = new Set(await deps.listGrants([...ids]));
    const lost = new Map(only.map((scope) => [scope, cut(scope, granted)]));
    await rewrite(only.filter((scope) => lost.get(scope)?.length !== 0));
    for (const destination of [...lost.values()].flat()) deps.onCut(destination);
  }

  async function close(scope: Opened): Promise<void> {
    if (!scopes.delete(scope)) return;
    const remove = [...scope.slots].map((slot) => planSlot(slot).slotAddress);
    scope.slots.clear();
    const rules = toScopeChange(scope.number, { remove }) + toScopeRemoval(scope.number);
    // A router that has ended has no rules. What one that lives keeps too long leads nowhere: no link has its addresses again.
    await inTurn(() => router.changeRules(rules)).catch(() => undefined);
    await unlink(scope.hosts).catch(() => undefined);
  }

  return {
    async open(destinations) {
      const scope = newScope(deps.dir, destinations);
      scopes.add(scope);
      try {
        await addresses.refresh(destinations);
        await inTurn(() => write(scope, deps));
        // One that ended since it was asked for was announced before anybody here could know.
        await refreshGrants([scope]);
        if (!scope.isWhole) throw new Error("A destination of this workflow has just been taken away.");
      } catch (error) {
        await close(scope);
        throw error;
      }
      return toScope(scope, deps, () => close(scope));
    },
    async refresh() {
      await refreshGrants();
      await addresses.refresh([...scopes].flatMap((scope) => scope.destinations));
      addresses.keepOnly([...scopes].flatMap((scope) => scope.named));
      await rewrite([...scopes]);
    },
    refreshGrants: () => refreshGrants(),
  };
}

function newScope(dir: string, destinations: readonly Destination[]): Opened {
  const number = scopesBefore++;
  return {
    number,
    hosts: join(dir, FOLDER, String(number)),
    slots: new Set(),
    named: destinations,
    destinations,
    isWhole: true,
    rules: "",
    names: undefined,
  };
}

function toScope(scope: Opened, { router, addresses }: ScopesDeps, close: () => Promise<void>): Scope {
  const { number, hosts, slots, named } = scope;
  return {
    hosts,
    get isWhole() {
      return scope.isWhole;
    },
    locate: () => named.map((one) => addresses.find(one)),
    async enter(slot) {
      await router.changeRules(toScopeChange(number, { add: [planSlot(slot).slotAddress] }));
      slots.add(slot);
    },
    async leave(slot) {
      if (slots.delete(slot)) await router.changeRules(toScopeChange(number, { remove: [planSlot(slot).slotAddress] }));
    },
    close,
  };
}

/** Acts one after the other: what was looked up earlier must not be written later. */
function createTurns(): <T>(act: () => Promise<T>) => Promise<T> {
  let work: Promise<unknown> = Promise.resolve();
  return (act) => {
    const done = work.then(act);
    work = done.catch(() => undefined);
    return done;
  };
}

/** Brings rules and names up to what is known of the addresses. */
async function write(scope: Opened, { router, addresses }: Pick<ScopesDeps, "router" | "addresses">): Promise<void> {
  const found = scope.destinations.map((one) => addresses.find(one));
  const rules = toScopeRules(scope.number, found.map(toPassage));
  if (rules !== scope.rules) await router.changeRules(rules);
  scope.rules = rules;
  const names = found.map(toHostLines).join("");
  if (names !== scope.names) await writeInPlace(scope.hosts, HOSTS_BEGIN + names);
  scope.names = names;
}

/** Takes the destinations out of a scope that are not granted any more, and returns them. */
function cut(scope: Opened, granted: ReadonlySet<string>): readonly Destination[] {
  const lost = scope.destinations.filter(({ grantId }) => grantId !== null && !granted.has(grantId));
  if (lost.length === 0) return lost;
  scope.isWhole = false;
  scope.destinations = scope.destinations.filter((one) => !lost.includes(one));
  return lost;
}

function toPassage({ destination: { ports, grantId }, reachable }: Located): Passage {
  return { ports, ranges: reachable.map(parseRange), isGranted: grantId !== null };
}

/** A granted host has the name of its grant, too. */
function toHostLines({ destination: { host, name, grantId }, current }: Located): string {
  const names = [...new Set([host, ...(grantId === null ? [] : [name])])].filter((one) => !current.includes(one));
  return names.length === 0 ? "" : current.map((address) => `${address} ${names.join(" ")}\n`).join("");
}

/**
 * Sandboxes have the file itself before their eyes: another one of its name would not be seen. It never gets shorter, and is
 * written in one piece, so that a program does not read an empty one.
 */
async function writeInPlace(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o644);
  try {
    await file.chmod(0o644); // With any umask.
    const { size } = await file.stat();
    await file.write(text.padEnd(size, "\n"), 0);
  } finally {
    await file.close();
  }
}
