/** One project a tier, so that `bin/run-tests.mjs` can demand tests of each. */
const tier = (name) => ({
  displayName: name,
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
  "activities",
  "runner",
  "sandbox",
  "setup",
  "publish",
  "http",
  "hostile",
  "workflows",
  "project",
  "e2e",
  "chaos",
];

/** Five seconds, the default, are short for a hook that stops servers on a busy machine. */
export default { projects: TIERS.map(tier), testTimeout: 30_000 };
