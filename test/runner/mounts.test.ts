import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Bench, IN_GVISOR, openBench, openWarmBench } from "./harness.ts";

let benches: readonly Bench[];
beforeAll(async () => {
  benches = [await openBench(), await openWarmBench()];
});
afterAll(async () => {
  for (const bench of benches) await bench.close();
});

/** Reads whatever names paths: what is mounted, mapped and open, and where links of processes lead. */
const SEARCH = `
import glob, os
def look(read, path):
    try: return read(path)
    except OSError: return ""
def main(wanted):
    open_file = open("/commit/main.py")
    text = lambda path: open(path, errors="replace").read()
    roots = [line.split()[3] for line in text("/proc/self/mountinfo").splitlines()]
    files = [name for kind in ("maps", "mounts", "mountstats", "cgroup", "cmdline", "environ") for name in glob.glob("/proc/[0-9]*/" + kind)]
    files += glob.glob("/proc/self/fdinfo/*") + glob.glob("/proc/[a-z]*") + glob.glob("/proc/net/*")
    links = [link for kind in ("exe", "cwd", "root", "fd/*", "map_files/*") for link in glob.glob("/proc/[0-9]*/" + kind)]
    told = {path: look(text, path) for path in files if os.path.isfile(path) and "kmsg" not in path and "kcore" not in path}
    told.update({path: look(os.readlink, path) for path in links})
    return {"roots": roots, "looked": [path for path in told if told[path]], "telling": [path for path in told if any(each in told[path] for each in wanted)]}
`;

test("paths of the host are in one field of mountinfo alone, and are those of the program's own folders, by names that say nothing", async () => {
  for (const bench of benches) {
    const commit = bench.commit({ code: SEARCH });
    await commit.warm();
    const ran = await commit.run({ inputs: { wanted: [bench.root, process.cwd()] } });
    expect([ran.outcome.status, ran.outcome.message]).toEqual(["success", ""]);
    const listOf = (name: string) => JSON.parse(ran.texts[name] ?? "") as string[];
    expect(listOf("looked")).toEqual(expect.arrayContaining(["/proc/1/mounts", "/proc/self/fdinfo/3"]));
    expect(listOf("telling")).toEqual([]);
    const roots = listOf("roots").filter((root) => root.includes(bench.root));
    const names = roots.map((root) => root.slice(root.indexOf(bench.root) + bench.root.length));
    const folders = ["/runner(/etc)?", "/execution-\\d+/(commit|spool/outputs)", "/lanes/[0-9a-f]{24}/outputs(/\\d+)?"];
    if (IN_GVISOR === undefined || ran.path === "lane") expect(names.length).toBeGreaterThanOrEqual(4);
    for (const name of names) expect(name).toMatch(new RegExp(`^(${folders.join("|")})$`));
  }
});
