/** What a room may import, by folder; everything not listed for it is forbidden. `test/project/architecture.test.ts` adds what is allowed as a type only. */
const ROOMS = {
  domain: { folders: ["domain"], packages: ["zod", "yaml"], builtins: false },
  db: { folders: ["db", "domain"], packages: true, builtins: true },
  system: { folders: ["system", "domain"], packages: true, builtins: true },
  sandbox: { folders: ["sandbox", "system", "domain"], packages: true, builtins: true },
  storage: { folders: ["storage", "system", "domain"], packages: true, builtins: true },
  environments: {
    folders: ["environments", "sandbox", "storage", "system", "db", "domain"],
    packages: true,
    builtins: true,
  },
  activities: {
    folders: ["activities", "environments", "storage", "sandbox", "system", "db", "domain"],
    packages: true,
    builtins: true,
  },
  workflows: { folders: ["workflows", "domain", "activities"], packages: ["@temporalio/workflow"], builtins: false },
  src: {
    folders: ["src", "activities", "environments", "storage", "sandbox", "system", "db", "domain", "workflows"],
    packages: true,
    builtins: true,
  },
  web: { folders: ["web", "domain"], packages: true, builtins: false },
};
/** What runs with the packages for production. The pages of the editor carry theirs in them. */
const WITH_PACKAGES = Object.keys(ROOMS).filter((room) => room !== "web");

const roomRules = Object.entries(ROOMS).flatMap(([room, { folders, packages, builtins }]) => {
  const own = [...folders.map((folder) => `^${folder}/`), "node_modules/"];
  const rules = [
    {
      name: `${room}-rooms`,
      comment: `${room} may look into ${folders.join(", ")} only.`,
      severity: "error",
      from: { path: `^${room}/` },
      to: { pathNot: own, dependencyTypesNot: ["core", "unknown"] },
    },
  ];
  if (packages !== true) {
    rules.push({
      name: `${room}-packages`,
      comment: `Of packages, ${room} may use ${packages.join(", ")} only.`,
      severity: "error",
      from: { path: `^${room}/` },
      to: { path: "node_modules/", pathNot: packages.map((name) => `node_modules/${name}/`) },
    });
  }
  if (!builtins) {
    rules.push({
      name: `${room}-builtins`,
      comment: `${room} does nothing by itself, so it needs nothing of Node.`,
      severity: "error",
      from: { path: `^${room}/` },
      to: { dependencyTypes: ["core"] },
    });
  }
  return rules;
});

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment: "Two files that need each other are one file, or there is a third in them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "found",
      comment: "What is imported must be there.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "no-development-packages",
      comment: "What runs in production is a dependency, not a development dependency.",
      severity: "error",
      from: { path: WITH_PACKAGES.map((room) => `^${room}/`) },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg"] },
    },
    ...roomRules,
  ],
  options: {
    // TypeScript 7 has no JavaScript interface to its compiler; where this tool asks for that one, it reads nothing and finds nothing wrong.
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^dist/" },
    enhancedResolveOptions: {
      extensions: [".ts", ".tsx", ".mjs", ".cjs", ".js", ".json"],
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
    },
  },
};
