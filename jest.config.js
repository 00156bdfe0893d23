/** Tiers whose files may borrow one service that is started once for all of them; see test/support/lent-service.ts. */
const LENT_A_SERVICE = ["browser", "e2e"];

/** One project a tier, so that `bin/run-tests.mjs` can demand tests of each. */
const tier = (name) => ({
  displayName: name,
  ...(LENT_A_SERVICE.includes(name)
    ? { globalSetup: "<rootDir>/bin/service-lender.mjs", globalTeardown: "<rootDir>/bin/service-lender-end.mjs" }
    : {}),
  roots: [`<rootDir>/test/${name}`],
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  testEnvironment: "node",
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { target: "es2023", parser: { syntax: "typescript" } }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
});

export const TIERS = [
  "domain",
  "db",
  "system",
  "storage",
  "environments",
  "activities",
  "runner",
  "sandbox",
  "neighbours",
  "setup",
  "publish",
  "http",
  "web",
  "hostile",
  "workflows",
  "project",
  "e2e",
  "cluster",
  "browser",
  "chaos",
];

/** Patient tiers that need no Temporal: they begin while its server is being built. */
export const EARLY_TIERS = ["domain", "web", "publish"];

/** Tiers whose tests do not mind being slow: they take what the others leave of the processors. */
export const PATIENT_TIERS = ["db", "workflows", "project", "http"];

/** Tiers that compare times, or watch for a standstill: they run when all others are over. */
export const QUIET_TIERS = ["neighbours"];

/**
 * Files that run at a time. Most tests wait rather than compute, so two are good for two cores, where jest by itself
 * would take one; on more cores it is two as well, because the bounds of time in tests were tried in that company.
 */
const WORKERS = 2;

export default {
  projects: TIERS.map(tier),
  maxWorkers: WORKERS,
  testSequencer: "./bin/test-order.mjs",
  /**
   * For what hangs. How long a test or a hook takes is decided by the machine and by what else it does, so few say a time
   * of their own, and none a shorter one.
   */
  testTimeout: 240_000,
  /** Modules of files that have run stay in a worker's memory; a worker that has more than this makes room for a new one. */
  workerIdleMemoryLimit: "1200MB",
};
