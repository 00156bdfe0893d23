// Written for dependency-cruiser 17.4.3: it takes the parser from @swc/core as it finds it when it is loaded.
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import configuration from "../.dependency-cruiser.cjs";

const ROOMS = [
  "domain",
  "db",
  "system",
  "sandbox",
  "storage",
  "environments",
  "activities",
  "workflows",
  "src",
  "web",
  "test",
  "bench",
  "chaos",
];
/** Far below what there is: it is here because a parser that can read nothing finds nothing wrong. */
const MODULES_MIN = 150;

/** The cruiser asks swc to read TypeScript without JSX, whatever a file is called, and has no option for it. */
function teachParserJsx() {
  const swc = createRequire(import.meta.url)("@swc/core");
  const { parseFileSync } = swc;
  swc.parseFileSync = (path, options) => parseFileSync(path, { ...options, tsx: path.endsWith(".tsx") });
}

/** Reads all modules, prints each broken rule of `.dependency-cruiser.cjs`, and answers the exit code. */
async function checkRooms(checkout) {
  teachParserJsx();
  // After that: it takes the parser's functions as they are when it is loaded.
  const { cruise } = await import("dependency-cruiser");
  const { options, ...ruleSet } = configuration;
  const { output } = await cruise(ROOMS, { ...options, ruleSet, validate: true, baseDir: checkout });
  const { violations, totalDependenciesCruised } = output.summary;
  const modules = output.modules.filter(({ source }) => ROOMS.includes(source.split("/")[0])).length;
  const problems = violations.map(toLine);
  if (modules < MODULES_MIN)
    problems.push(`Only ${modules} modules were read, fewer than ${MODULES_MIN}: does the parser still work?`);
  for (const problem of problems) console.error(problem);
  console.log(`${modules} modules, ${totalDependenciesCruised} imports, ${problems.length} problems`);
  return problems.length === 0 ? 0 : 1;
}

function toLine({ rule, from, to, cycle }) {
  const path = cycle === undefined ? [from, to] : [from, ...cycle.map(({ name }) => name)];
  const { comment } = configuration.forbidden.find(({ name }) => name === rule.name) ?? { comment: "" };
  return `${rule.name}: ${path.join(" → ")}. ${comment}`;
}

process.exitCode = await checkRooms(dirname(dirname(fileURLToPath(import.meta.url))));
