import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { findCommit } from "../../db/commits/commits.ts";
import { queryRows } from "../../db/connect.ts";
import { createSandbox } from "../../sandbox/sandbox.ts";
import { prune } from "../../src/housekeeping/pruning.ts";
import { createExecutionId } from "../../src/ids.ts";
import { createCommitWarming } from "../../src/publish/commit-warming.ts";
import { SILENT } from "../http/editor/parts.ts";
import { LIMITS } from "../runner/harness.ts";
import { anAccount } from "../support/builders.ts";
import { aHost, minorOf } from "./machines.ts";

const HOUR_MS = 3_600_000;

let host: Awaited<ReturnType<typeof aHost>>;
beforeAll(async () => {
  host = await aHost();
});
afterAll(() => host.close());

async function publishGood(files: Record<string, string>) {
  const publication = await host.publish(files);
  if (publication.kind !== "published") throw new Error(JSON.stringify(publication));
  return publication;
}

async function problemsOf(files: Record<string, string>) {
  const publication = await host.publish(files);
  if (publication.kind !== "invalid") throw new Error(JSON.stringify(publication));
  return publication.problems.map(({ file, line, column, message }) => `${file}:${line}:${column} ${message}`);
}

const WHICH = `
import subprocess, sys
def main():
    names = [subprocess.check_output([name, "-c", "import sys; print(sys.base_prefix)"], text=True).strip() for name in ("python", "python3")]
    return [sys.base_prefix, list(sys.version_info[:2]), names]
`;

test("publish, with a python that is there, runs the commit with it on the cold path and in a lane", async () => {
  const minor = minorOf(host.second.version);
  const { prefix } = host.second;
  const answer = [prefix, minor.split(".").map(Number), [prefix, prefix]];
  for (const requirements of ["", "hello\n"]) {
    const { workflowId, commitId } = await publishGood({
      "config.yaml": `python: "${minor}"\n`,
      "main.py": requirements === "" ? WHICH : `import hello\n${WHICH}`,
      "requirements.txt": requirements,
    });
    expect(await host.run(workflowId, commitId)).toEqual(answer);
    expect(await host.warm(workflowId, commitId)).toEqual({ warm: true });
    for (let round = 0; round < 2; round += 1) expect(await host.run(workflowId, commitId)).toEqual(answer);
  }
  const [row] = await queryRows<{ key: string }>(host.db, "select interpreter, key from environments");
  expect(row).toMatchObject({ interpreter: host.second.version });
  expect(readdirSync(join(host.environments.dir, row?.key ?? "", "lib"))).toEqual([`python${minor}`]);
});

test("publish, without a python, runs with the standard one", async () => {
  const { workflowId, commitId } = await publishGood({
    "main.py": "import sys\ndef main():\n    return sys.executable\n",
  });
  expect(await host.run(workflowId, commitId)).toBe(host.standard.path);
});

test("publish, with limits of processes, open files and scratch, gives runs as much, and refuses more than the installation allows", async () => {
  const main = `
import os, resource
def main():
    counts = [resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE)]
    return counts + [os.statvfs(path).f_blocks * os.statvfs(path).f_frsize >> 20 for path in ("/app", "/tmp", "/dev/shm")]
`;
  for (const [config, answer] of [
    ["limits: { processes: 9, open_files: 65, scratch: 300MiB }\n", [9, 65, 300, 300, 300]],
    ["name: x\n", [LIMITS.processes, LIMITS.openFiles, 256, 256, 256]], // Processes and files: all that it allows.
  ] as const) {
    const { workflowId, commitId } = await publishGood({ "config.yaml": config, "main.py": main });
    expect(await host.run(workflowId, commitId)).toEqual(answer);
    expect(await host.warm(workflowId, commitId)).toEqual({ warm: true });
    expect(await host.run(workflowId, commitId)).toEqual(answer);
  }
  const pattern = "inputs: { a: { type: string, pattern: x } }\n"; // Then another thread checks the folder.
  for (const more of ["", pattern])
    expect(
      await problemsOf({ "config.yaml": `limits:\n  processes: 33\n  open_files: 257\n  scratch: 385MiB\n${more}` }),
    ).toEqual([
      "config.yaml:2:14 limits.processes: must be from 8 to 32. The operator can allow more with TREADLE_PROCESSES_MAX.",
      "config.yaml:3:15 limits.open_files: must be from 64 to 256. The operator can allow more with TREADLE_OPEN_FILES_MAX.",
      "config.yaml:4:12 limits.scratch: must be from 256 MiB to 384 MiB. The operator can allow more with TREADLE_SCRATCH_BYTES_MAX.",
    ]);
});

test("publish, with more time, memory and cores than the installation allows, is refused; what was published before runs with what it allows", async () => {
  expect(await problemsOf({ "config.yaml": "limits:\n  timeout: 2h\n  memory: 9GiB\n  cpu: 8.5\n" })).toEqual([
    "config.yaml:2:12 limits.timeout: must be from 1s to 1h. The operator can allow more with TREADLE_TIMEOUT_SECONDS_MAX.",
    "config.yaml:3:11 limits.memory: must be from 16 MiB to 8 GiB. The operator can allow more with TREADLE_MEMORY_BYTES_MAX.",
    "config.yaml:4:8 limits.cpu: must be from 0.1 to 8. The operator can allow more with TREADLE_CPU_MAX.",
  ]);
  const main = "import resource\ndef main():\n    return resource.getrlimit(resource.RLIMIT_CPU)[0]\n";
  const config = "limits: { timeout: 1h, memory: 8GiB, cpu: 8 }\n";
  const { workflowId, commitId } = await publishGood({ "config.yaml": config, "main.py": main });
  const most = await host.run(workflowId, commitId);
  const limits = '{"timeoutSeconds": 86400, "memoryBytes": 68719476736, "cpu": 64, "network": false}';
  const above =
    "update commits set manifest = jsonb_set(manifest, '{limits}', cast(:limits as jsonb)) where id = :commitId";
  await queryRows(host.db, above, { commitId, limits });
  expect(await host.run(workflowId, commitId)).toBe(most);
});

test("publish and preview, with a python that is not there, are refused at its line with those there are", async () => {
  const files = { "config.yaml": 'name: x\npython: "3.98"\nentrypont: main.py\n' };
  const versions = [host.standard, host.second].map(({ version }) => minorOf(version)).sort();
  const expected = [
    expect.stringContaining(
      `config.yaml:2:9 python: There is no Python 3.98 on this installation, which has ${versions.join(" and ")}. Ask for`,
    ),
    expect.stringMatching(/^config.yaml:3:1 entrypont: Unknown key/),
  ];
  expect(await problemsOf(files)).toEqual(expected);
  expect(await host.preview(files)).toMatchObject({ kind: "invalid", problems: [{ line: 2, column: 9 }, { line: 3 }] });
});

test.each([
  [
    "pyproject.toml",
    "[project]\nrequires-python = '<3.10'\n",
    /^pyproject.toml:2:19 The code wants Python <3\.10, and the workflow runs with 3\..*This installation has 3.*correct this/,
  ],
  ["main.py", "# /// script\n# requires-python = '>=3.100'\n# ///\n", /^main.py:2:21 The code wants Python >=3\.100/],
])(
  "publish, with a requires-python in %s that its Python does not meet, is refused there",
  async (path, content, problem) => {
    expect(await problemsOf({ [path]: content })).toEqual([expect.stringMatching(problem)]);
  },
);

test.each([
  ["requirements.txt", "# one\nhello\n  picky\n", 3, 3],
  ["pyproject.toml", "[project]\ndependencies = [\n  'hello',\n  'picky',\n]\n", 4, 4],
  ["main.py", "# /// script\n# dependencies = ['picky']\n# ///\n", 2, 20],
])(
  "publish, with packages in %s that contradict each other, points to the line in it",
  async (path, content, line, column) => {
    const problems = await problemsOf({ [path]: content });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${path}:${line}:${column} .*picky`))]);
  },
);

test("publish, with a requires-python that another Python here meets, says which", async () => {
  const minor = minorOf(host.second.version);
  const files = { "pyproject.toml": `[project]\nrequires-python = "==${minor}.*"\n` };
  expect(await problemsOf(files)).toEqual([expect.stringContaining(`Write python: "${minor}" into config.yaml`)]);
  await publishGood({ ...files, "config.yaml": `python: "${minor}"\n` });
});

test("publish, with packages in a script block of another entrypoint, installs those", async () => {
  const { workflowId, commitId, buildLog } = await publishGood({
    "config.yaml": "entrypoint: src/report.py\n",
    "src/report.py":
      "# /// script\n# dependencies = ['hello']\n# ///\nimport hello\ndef main():\n    return hello.WHERE\n",
  });
  expect(await host.run(workflowId, commitId)).toBe("/env");
  expect(buildLog).toContain("The environment is ready.");
});

test("publish, of a package that only has its source, is refused at its line unless config.yaml says build: source", async () => {
  const files = {
    "main.py": "import sourceonly\ndef main():\n    return sourceonly.NAME\n",
    "requirements.txt": "\nsourceonly\n",
  };
  expect(await problemsOf(files)).toEqual([
    expect.stringMatching(/^requirements.txt:2:1 .*say build: source in config.yaml/),
  ]);
  expect(await problemsOf({ ...files, "config.yaml": "build: sources\n" })).toEqual([
    expect.stringMatching(/^config.yaml:1:8 build: .*source/),
  ]);
  for (const python of [host.standard, host.second]) {
    const config = `build: source\npython: "${minorOf(python.version)}"\n`;
    const { workflowId, commitId } = await publishGood({ ...files, "config.yaml": config });
    expect(await host.run(workflowId, commitId)).toBe("sourceonly");
  }
});

test("usedFolders, while an execution runs on the cold path, has its commit and environment, and nothing afterwards", async () => {
  const { workflowId, commitId } = await publishGood({ "requirements.txt": "hello\n", "main.py": "" });
  const key = (await findCommit(host.db, workflowId, commitId))?.environmentKey ?? "";
  const commitDir = await host.checkouts.ensure(workflowId, commitId);
  const environmentDir = join(host.environments.dir, key);
  const executionId = createExecutionId();
  const cold = createSandbox(host.sandboxSettings);
  const given = { inputs: {}, kinds: {}, files: [], declaredOutputs: null, limits: LIMITS, entrypoint: "main.py" };
  const spoolDir = await host.spool.open(executionId);
  const running = cold.run({ ...given, executionId, commitDir, environmentDir, spoolDir });
  expect([...cold.usedFolders()]).toEqual([commitDir, environmentDir]);
  expect((await running).outcome.status).toBe("success");
  expect(cold.usedFolders().size).toBe(0);
  await cold.close();
});

test("publish, of Python that does not compile, is refused with each place, also where config.yaml is wrong", async () => {
  const files = {
    "main.py": "def main():\n    print((1)\n",
    "lib/deep.py": "x = 1\n  y = 2\n",
    "notes.txt": "def (",
    "fine.py": '"no error, only a warning: \\d"\n',
  };
  const found = [
    expect.stringMatching(/^main\.py:2:10 This is not Python 3\.\d+: '\(' was never closed\.$/),
    expect.stringMatching(/^lib\/deep\.py:2:\d+ This is not Python 3\.\d+: unexpected indent\.$/),
  ];
  expect(await problemsOf(files)).toEqual(found);
  const config = { "config.yaml": "limits: { tmeout: 5m }\n" };
  expect(await problemsOf({ ...files, ...config })).toEqual([expect.stringMatching(/^config\.yaml:1:/), ...found]);
  const previewed = await host.preview(files);
  expect(previewed).toMatchObject({
    kind: "invalid",
    problems: [{ file: "main.py", line: 2 }, { file: "lib/deep.py" }],
  });
});

test("publish, of Python that is hostile to its compiler, is refused file by file in words", async () => {
  const problems = await problemsOf({
    "a.py": `x = ${"(".repeat(5_000)}`,
    "b.py": `x = ${"-".repeat(2_000_000)}1`,
    "c.py": "x = 1\ny = '\0'\n",
    "d.py": "# coding: no-such-thing\n",
    "f.py": `x = [${"1,".repeat(5_000_000)}]`,
    "g.py": "import os; os._exit(0)\nraise SystemExit\n",
    "main.py": "x = = 1\n",
  });
  expect(problems).toEqual([
    expect.stringMatching(/^main\.py:1:5 .*invalid syntax/),
    expect.stringMatching(/^a\.py:1:\d+ .*nest/),
    expect.stringMatching(/^b\.py:1:1 .*(?:nest|memory)/),
    expect.stringMatching(/^c\.py:2:6 .*NUL byte/),
    expect.stringMatching(/^d\.py:1:1 .*no-such-thing/),
    expect.stringMatching(/^f\.py:1:1 .*(?:memory|seconds)/),
  ]);
});

test("publish, of a main that lacks or demands inputs, warns of the one and refuses the other, as runs would go", async () => {
  const config = { "config.yaml": "inputs: { a: { type: string, default: x }, b: { type: integer, default: 1 } }\n" };
  const demanding = { ...config, "main.py": "import sys\n\nasync def main(a, c, /, *, d, e=1):\n    pass\n" };
  expect(await problemsOf(demanding)).toEqual([
    expect.stringMatching(
      /^main\.py:3:1 main\(\) needs c, d, and config\.yaml declares no such input \(declared: a, b\)\./,
    ),
  ]);
  const lacking = await publishGood({ ...config, "main.py": "def main(a):\n    return a\n" });
  expect(lacking.warnings).toEqual([
    expect.objectContaining({ file: "main.py", line: 1, message: expect.stringContaining("input b") }),
  ]);
  for (const main of [
    "def main(a, **others):\n    return others\n",
    "import functools\n@functools.cache\ndef main(nobody_knows=1):\n    pass\n",
    "def main(c):\n    pass\nmain = print\n",
    "print(1)\n",
  ]) {
    const { warnings } = await publishGood({ ...config, "main.py": main });
    expect(warnings.filter(({ message }) => message.startsWith("main()"))).toEqual([]);
  }
});

test("commit warming, of slow commits of one account, lets another account's go on meanwhile", async () => {
  const other = await host.another({ accountId: await anAccount(host.db) });
  const publishTo = async (machine: typeof other, main: string, requirements = "") => {
    const files = { "main.py": `${main}\ndef main():\n    pass\n`, "requirements.txt": requirements };
    const publication = await machine.publish(files);
    if (publication.kind !== "published") throw new Error(JSON.stringify(publication));
    return publication.workflowId;
  };
  const slow = [];
  for (const name of ["a", "b", "c"]) slow.push(await publishTo(host, `${name} = 1\nimport slow`, "slow\n"));
  const quick = await publishTo(other, "");
  const order: string[] = [];
  const warming = createCommitWarming({
    db: host.db,
    warm: async (workflowId, commitId) => {
      const warmth = await host.warm(workflowId, commitId);
      order.push(workflowId);
      return warmth;
    },
    log: SILENT,
  });
  for (const workflowId of [...slow, quick]) warming.subscription.onNotify(JSON.stringify({ workflowId }));
  while (order.length < 4) await sleep(20);
  warming.close();
  expect([order[0], new Set(order)]).toEqual([quick, new Set([quick, ...slow])]);
});

test("prune, of what a lane has before it, leaves it alone; once nobody has it, it goes and is built again at need", async () => {
  const { workflowId, commitId } = await publishGood({
    "requirements.txt": "hello==1.0\n",
    "main.py": "def main():\n    import hello\n    return hello.WHERE\n",
  });
  const key = (await findCommit(host.db, workflowId, commitId))?.environmentKey ?? "";
  const path = join(host.environments.dir, key);
  const old = new Date(Date.now() - 60 * 24 * HOUR_MS);
  const makeOld = () => utimesSync(path, old, old);
  const pruneAll = () => prune({ ...host, db: host.db });
  expect(await host.warm(workflowId, commitId)).toEqual({ warm: true });
  expect(host.sandbox.usedFolders()).toContain(path);
  await queryRows(host.db, "update workflows set deleted_at = now()"); // so that no head needs it
  makeOld();
  await pruneAll();
  expect(readdirSync(host.environments.dir)).toContain(key);
  await host.sandbox.close();
  expect(host.sandbox.usedFolders()).not.toContain(path);
  makeOld();
  await pruneAll();
  expect(readdirSync(host.environments.dir)).not.toContain(key);
  const lock = (
    await queryRows<{ lock: string }>(host.db, "select lock from environments where key = :key", { key })
  )[0];
  await host.environments.ensure(key, lock?.lock ?? "", { python: host.standard });
  expect(readdirSync(host.environments.dir)).toContain(key);
});
