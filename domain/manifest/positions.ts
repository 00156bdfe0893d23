import { isAlias, isMap, isScalar, isSeq, type LineCounter, type Node, type ParsedNode } from "yaml";

import { toJsonText } from "./yaml-json.ts";

export type Path = readonly (string | number)[];

/** A place in a text; both numbers count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Finds the places of a parsed YAML document's nodes by the path of their values. */
export interface Places {
  /** Where the value at a path begins; where there is none, its nearest parent. */
  readonly ofValue: (path: Path) => Place;
  /** Where the key that ends a path begins; where there is none, the nearest parent's value. */
  readonly ofKey: (path: Path) => Place;
  /** The value at a path as JSON text, with all digits of its numbers; undefined where there is none. */
  readonly textOf: (path: Path) => string | undefined;
}

/** Places within `root`, whose source `lines` has counted. Aliases lead to what they stand for. */
export function createPlaces(root: ParsedNode | null, lines: LineCounter): Places {
  const start: Place = { line: 1, column: 1 };

  function placeOf(node: Node | null | undefined): Place {
    const offset = node?.range?.[0];
    if (offset === undefined) return start;
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  function walk(path: Path): { node: Node | null; complete: boolean } {
    let node: Node | null = root;
    for (const step of path) {
      const next = findChild(resolveAlias(node, root), step)?.value;
      if (!next) return { node, complete: false };
      node = next;
    }
    return { node, complete: true };
  }

  function ofValue(path: Path): Place {
    return placeOf(walk(path).node);
  }

  function ofKey(path: Path): Place {
    const parent = walk(path.slice(0, -1));
    const last = path.at(-1);
    const child = parent.complete && last !== undefined ? findChild(resolveAlias(parent.node, root), last) : undefined;
    return placeOf(child?.key ?? parent.node);
  }

  function textOf(path: Path): string | undefined {
    const { node, complete } = walk(path);
    return complete ? toJsonText(node, (one) => resolveAlias(one, root)) : undefined;
  }

  return { ofValue, ofKey, textOf };
}

/** The node an alias stands for. The document has been checked: an anchor stands before its aliases and never around them. */
function resolveAlias(node: Node | null, root: Node | null): Node | null {
  if (!isAlias(node)) return node;
  return findAnchors(root).get(node.source) ?? null;
}

const anchorsByRoot = new WeakMap<Node, Map<string, Node>>();

function findAnchors(root: Node | null): Map<string, Node> {
  if (!root) return new Map();
  const known = anchorsByRoot.get(root);
  if (known) return known;
  const anchors = new Map<string, Node>();
  anchorsByRoot.set(root, anchors);
  const visit = (node: unknown): void => {
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isMap(node)) for (const pair of node.items) visit(pair.value);
    if (isSeq(node)) for (const item of node.items) visit(item);
  };
  visit(root);
  return anchors;
}

interface Child {
  readonly key: Node | null;
  readonly value: Node | null;
}

/** A file of nothing but unknown keys asks for each of them: look-ups must not search. */
const childrenByMap = new WeakMap<Node, Map<string, Child>>();

function findChild(node: Node | null, step: string | number): Child | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(step)] as Node | undefined;
    return item && { key: null, value: item };
  }
  if (!isMap(node)) return undefined;
  let children = childrenByMap.get(node);
  if (!children) {
    children = new Map();
    for (const { key, value } of node.items) {
      if (isScalar(key)) children.set(String(key.value), { key, value: value as Node | null });
    }
    childrenByMap.set(node, children);
  }
  return children.get(String(step));
}
