import { relative, sep } from "node:path";

/**
 * Tiers whose files take longest first, so that at the end no worker waits for one long file; after them all others. Those of one
 * line take turns: one that mostly waits beside one that computes. jest itself would go by how long each took before, which a
 * fresh clone does not know, so that each run had an order of its own.
 */
const LONGEST_FIRST = [
  ["e2e", "browser", "cluster"],
  ["chaos", "sandbox"],
  ["hostile"],
  ["setup"],
  ["environments", "activities", "workflows"],
];

/** Puts test files into an order that is the same everywhere: by tier, in a tier the largest file first. */
export default class TestOrder {
  sort(tests) {
    const places = tests.map((test) => {
      const { rootDir } = test.context.config;
      const [, tier] = relative(rootDir, test.path).split(sep);
      const rank = LONGEST_FIRST.findIndex((tiers) => tiers.includes(tier));
      const bytes = test.context.hasteFS.getSize(test.path) ?? 0;
      return { test, tier, rank: rank === -1 ? LONGEST_FIRST.length : rank, bytes };
    });
    places.sort((a, b) => b.bytes - a.bytes || (a.test.path < b.test.path ? -1 : 1));
    const turns = new Map();
    for (const place of places) {
      const { tier, rank } = place;
      const turn = LONGEST_FIRST[rank] === undefined ? 0 : (turns.get(tier) ?? 0);
      turns.set(tier, turn + 1);
      place.turn = turn;
    }
    places.sort((a, b) => a.rank - b.rank || a.turn - b.turn);
    return places.map(({ test }) => test);
  }

  /** For `--onlyFailures`, which needs what an earlier run has left. */
  allFailedTests(tests) {
    return this.sort(tests);
  }

  cacheResults() {}
}
