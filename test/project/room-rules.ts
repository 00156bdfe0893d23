import { posix } from "node:path";
import { parseSync } from "@swc/core";

/** What a room may look into. `types` are rooms it may name with `import type` only. */
interface Room {
  readonly values: readonly string[];
  readonly types: readonly string[];
  /** All packages, or these. */
  readonly packages: "all" | readonly string[];
  readonly node: boolean;
}

const FREE = { types: [], packages: "all", node: true } as const;

/** What a worker has under its activities. */
const WORKERS = ["environments", "storage", "sandbox", "system", "db", "domain"];

/** The table of rooms in ARCHITECTURE.md, as data. */
export const ROOMS: Readonly<Record<string, Room>> = {
  domain: { values: ["domain"], types: [], packages: ["zod", "yaml"], node: false },
  db: { ...FREE, values: ["db", "domain"] },
  system: { ...FREE, values: ["system", "domain"] },
  sandbox: { ...FREE, values: ["sandbox", "system", "domain"] },
  storage: { ...FREE, values: ["storage", "system", "domain"] },
  environments: { ...FREE, values: ["environments", "sandbox", "storage", "system", "db", "domain"] },
  activities: { ...FREE, values: ["activities", ...WORKERS] },
  workflows: {
    values: ["workflows", "domain"],
    types: ["activities"],
    packages: ["@temporalio/workflow"],
    node: false,
  },
  src: { ...FREE, values: ["src", "activities", ...WORKERS], types: ["workflows"] },
  // Bundled for browsers. What of Node it would need, it asks the service for.
  web: { ...FREE, values: ["web", "domain"], node: false },
  bench: { ...FREE, values: ["bench", "src", "activities", ...WORKERS] },
  // What judges the service must share nothing with it.
  chaos: { ...FREE, values: ["chaos"] },
  test: { ...FREE, values: ["test", "bench", "chaos", "src", "web", "workflows", "activities", ...WORKERS] },
};

export interface SourceFile {
  /** Relative to the checkout, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every import of these TypeScript files that the table does not allow, as `path: what is wrong`. */
export function findForbiddenImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const name = file.path.split("/")[0] ?? "";
    const room = ROOMS[name];
    if (room === undefined) return [`${file.path}: is in no room of the table`];
    return importsOf(file).flatMap(({ from, typeOnly }) => {
      const problem = judge(room, posix.join(posix.dirname(file.path), from), { from, typeOnly });
      return problem === undefined ? [] : [`${file.path}: ${problem}`];
    });
  });
}

/** Returns the rooms below `folder` that need each other, types included: those between which an arrow would run back up. */
export function findCircle(files: readonly SourceFile[], folder: string): string[] {
  const roomIn = (path: string): string | undefined =>
    path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/")[0] : undefined;
  const needed = new Map<string, Set<string>>();
  for (const file of files) {
    const room = roomIn(file.path);
    if (room === undefined) continue;
    const targets = importsOf(file).filter(({ from }) => from.startsWith("."));
    const rooms = targets.flatMap(({ from }) => roomIn(posix.join(posix.dirname(file.path), from)) ?? []);
    needed.set(room, new Set([...(needed.get(room) ?? []), ...rooms.filter((other) => other !== room)]));
  }
  // Whoever needs nobody that is left stands below the others. Where nobody does, those that are left are the circle.
  for (;;) {
    const ground = [...needed.keys()].find((room) => ![...(needed.get(room) ?? [])].some((other) => needed.has(other)));
    if (ground === undefined) return [...needed.keys()].toSorted();
    needed.delete(ground);
  }
}

interface Import {
  readonly from: string;
  readonly typeOnly: boolean;
}

function judge(room: Room, target: string, { from, typeOnly }: Import): string | undefined {
  if (from.startsWith("node:")) return room.node ? undefined : `imports ${from}, and needs nothing of Node`;
  if (!from.startsWith(".")) {
    const name = from.split("/", from.startsWith("@") ? 2 : 1).join("/");
    return room.packages === "all" || room.packages.includes(name) ? undefined : `imports the package ${name}`;
  }
  const [other = "", ...rest] = target.split("/");
  if (rest.length === 0) return undefined; // A file at the top, such as package.json.
  if (room.values.includes(other)) return undefined;
  if (!room.types.includes(other)) return `imports ${target}`;
  return typeOnly ? undefined : `imports ${target} by value; say "import type"`;
}

/** All imports and re-exports. `import { type A }` counts as a value: it leaves the import in the compiled file. */
function importsOf({ path, text }: SourceFile): Import[] {
  const { body } = parseSync(text, { syntax: "typescript", tsx: path.endsWith(".tsx"), target: "es2022" });
  const declared = body.flatMap((item): Import[] => {
    if (item.type === "ImportDeclaration") return [{ from: item.source.value, typeOnly: item.typeOnly }];
    if (item.type === "ExportAllDeclaration") return [{ from: item.source.value, typeOnly: false }];
    if (item.type === "ExportNamedDeclaration" && item.source) {
      return [{ from: item.source.value, typeOnly: "typeOnly" in item && item.typeOnly === true }];
    }
    return [];
  });
  const called = [...text.matchAll(/(typeof )?\bimport\(\s*["']([^"']+)["']/g)].map(([, type, from = ""]) => ({
    from,
    typeOnly: type !== undefined,
  }));
  return [...declared, ...called];
}
