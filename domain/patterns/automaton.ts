import type { PatternNode } from "./syntax.ts";

const POSITIONS_MAX = 1_000;
const EDGES_MAX = 5_000;
/** Empty groups add no positions, yet `(){1000}` inside itself would be built for ever. */
const BUILDS_MAX = 20_000;

/** A Glushkov automaton: one state for each character position of the pattern; no empty steps. */
export interface Automaton {
  /** What each position accepts: the source of an atom. */
  readonly atoms: readonly string[];
  readonly first: readonly number[];
  readonly last: ReadonlySet<number>;
  readonly follow: readonly (readonly number[])[];
  readonly acceptsEmpty: boolean;
  /** Positions that one same step can reach in two ways, as in `(a*)*`. */
  readonly doubled: readonly (readonly [from: number, to: number])[];
}

interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly nullable: boolean;
}

class TooLarge extends Error {}

const EMPTY: Part = { first: [], last: [], nullable: true };

/** Builds the automaton, or undefined when counted repetitions make it larger than a check of a value may cost. */
export function buildAutomaton(root: PatternNode): Automaton | undefined {
  const builder = new Builder();
  try {
    const { first, last, nullable } = builder.build(root);
    return {
      atoms: builder.atoms,
      first: [...new Set(first)],
      last: new Set(last),
      follow: builder.follow.map((targets) => [...targets]),
      acceptsEmpty: nullable,
      doubled: builder.doubled,
    };
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    return undefined;
  }
}

class Builder {
  readonly atoms: string[] = [];
  readonly follow: Set<number>[] = [];
  readonly doubled: [number, number][] = [];
  #edges = 0;
  #builds = 0;

  build(node: PatternNode): Part {
    this.#builds += 1;
    if (this.#builds > BUILDS_MAX) throw new TooLarge();
    switch (node.kind) {
      case "atom":
        return this.#addPosition(node.source);
      case "sequence":
        return node.parts.reduce<Part>((left, part) => this.#join(left, this.build(part)), EMPTY);
      case "choice": {
        const options = node.options.map((option) => this.build(option));
        return {
          first: options.flatMap((option) => option.first),
          last: options.flatMap((option) => option.last),
          nullable: options.some((option) => option.nullable),
        };
      }
      case "repeat":
        return this.#repeat(node.node, node.min, node.max);
    }
  }

  #addPosition(atom: string): Part {
    if (this.atoms.length >= POSITIONS_MAX) throw new TooLarge();
    const position = this.atoms.push(atom) - 1;
    this.follow.push(new Set());
    return { first: [position], last: [position], nullable: false };
  }

  #repeat(node: PatternNode, min: number, max: number | null): Part {
    let tail = EMPTY;
    if (max === null) {
      const loop = this.build(node);
      this.#connect(loop.last, loop.first);
      tail = { ...loop, nullable: loop.nullable || min === 0 };
    } else {
      // a{0,3} as (a(a(a)?)?)?: the edges grow with the count, not with its square.
      for (let copy = min; copy < max; copy += 1) tail = { ...this.#join(this.build(node), tail), nullable: true };
    }
    const copies = max === null ? min - 1 : min;
    for (let copy = 0; copy < copies; copy += 1) tail = this.#join(this.build(node), tail);
    return tail;
  }

  #join(left: Part, right: Part): Part {
    this.#connect(left.last, right.first);
    return {
      first: left.nullable ? [...left.first, ...right.first] : left.first,
      last: right.nullable ? [...left.last, ...right.last] : right.last,
      nullable: left.nullable && right.nullable,
    };
  }

  #connect(from: readonly number[], to: readonly number[]): void {
    for (const source of from) {
      for (const target of to) {
        const targets = this.follow[source] as Set<number>;
        if (targets.has(target)) this.doubled.push([source, target]);
        else this.#edges += 1;
        if (this.#edges > EDGES_MAX || this.doubled.length > EDGES_MAX) throw new TooLarge();
        targets.add(target);
      }
    }
  }
}
