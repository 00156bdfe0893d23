// What an attack is, and what it can use.
import type { Bench, Commit, Program, Ran } from "../../runner/harness.ts";
import type { Scene } from "./scene.ts";
import type { Weakening } from "./weaken.ts";

/** The two ways an execution can go; the third, `any`, leaves it to the sandbox, for code that a lane may refuse. */
export type Way = "cold" | "lane" | "any";

export interface Attack {
  readonly name: string;
  /** Row of the list of known attacks, or `own`. */
  readonly source: string;
  /** What it tries. */
  readonly essence: string;
  /** What has to hold. Where possible the host looks for it, and the program's own word does not count. */
  readonly containment: string;
  readonly ways: readonly Way[];
  /** Taken away from every sandbox of this attack, because what is behind it is what is attacked. */
  readonly circumstance?: Weakening;
  /** Carries it out; answers what the attacker got. Nothing: contained. */
  wage(siege: Siege): Promise<readonly string[]>;
  /** The defence that is taken away so that the same attack gets something. */
  readonly control: Control;
}

export interface Control extends Weakening {
  /** What is taken away, in words. */
  readonly without: string;
  /** Where the control is made; the first of the attack's ways unless given. */
  readonly way?: Way;
  /** For the very few that need a real root, or a file that only root can make. */
  readonly asRootOnly?: boolean;
}

export interface AssaultOptions
  extends Partial<Pick<Program, "inputs" | "kinds" | "limits" | "files" | "signal" | "onLine" | "heldBytesMax">> {
  /** Packages of the environment, by path below site-packages. */
  readonly packages?: Readonly<Record<string, string>>;
  /** Whether it has to say that it got to its end: so, unless it is meant to be stopped. */
  readonly finishes?: boolean;
}

/** One execution of an attack program. */
export interface Assault {
  readonly ran: Ran;
  /** What the program says it got. */
  readonly loot: readonly string[];
  /** What was refused it, with the answer it had. */
  readonly refused: Readonly<Record<string, string>>;
}

/** A commit whose executions follow each other. */
export interface Post {
  readonly commit: Commit;
  run(options?: Omit<AssaultOptions, "packages" | "limits" | "kinds">): Promise<Assault>;
}

export interface Siege {
  readonly way: Way;
  readonly bench: Bench;
  readonly scene: Scene;
  /** Whether its defence was taken away, so that it is to get something. */
  readonly isControl: boolean;
  /** Set in a control whose attack has nothing between one execution and the next: it does both parts in one. */
  readonly inOne: boolean;
  /** Looks again and again for what comes by itself: until there is some loot, which in a control may take its time. */
  lookFor(look: () => readonly string[]): Promise<readonly string[]>;
  /** A commit with the program `programs/<name>.py`. Where a lane is asked for, there is one. */
  post(name: string, options?: AssaultOptions): Promise<Post>;
  /** The same, executed once. */
  run(name: string, options?: AssaultOptions): Promise<Assault>;
}
