import { expect, test } from "@jest/globals";
import type { z } from "zod";
import type { DraftPreview as DraftPreviewSchema } from "../../../domain/api/drafts.ts";
import type { CommitId } from "../../../domain/ids.ts";
import { anExecution, type TestWorkflow } from "../../support/builders.ts";
import { aFileService } from "../service.ts";
import { anEditor, type Editor, FILES, MANIFEST, PROGRAM } from "./callers.ts";

type DraftPreview = z.infer<typeof DraftPreviewSchema>;

const service = await aFileService();

interface Draft {
  readonly version: number;
  readonly base: string | null;
  readonly head: string | null;
  readonly changed: boolean;
  readonly files: {
    readonly path: string;
    readonly text: string | null;
    readonly bytes: number;
    readonly executable: boolean;
  }[];
}

async function draftOf(editor: Editor, path: string): Promise<Draft> {
  return (await editor.get(`${path}/draft`)).json() as unknown as Draft;
}

function textsOf({ files }: Draft): Record<string, string | null> {
  return Object.fromEntries(files.map((file) => [file.path, file.text]));
}

async function save(editor: Editor, path: string, version: number, changes: readonly object[]) {
  const answer = await editor.patch(`${path}/draft`, { version, changes });
  return { status: answer.status, ...answer.json() } as unknown as {
    status: number;
    version: number;
    changed: boolean;
    problems: { file: string; line: number; message: string }[];
    details: { file: string; message: string }[];
  };
}

/** A workflow with one commit of `FILES`. */
async function aCommitted(editor: Editor): Promise<{ path: string; head: string }> {
  const { path } = await editor.create();
  await save(editor, path, 0, FILES);
  const answer = await editor.post(`${path}/commits`, { message: "First", version: 1, expectedHead: null });
  expect(answer.status).toBe(201);
  return { path, head: answer.json()["commitId"] as string };
}

test("a draft, before anything is written, is the files of the latest commit at version 0", async () => {
  const editor = await anEditor(service);
  const { path, head } = await aCommitted(editor);
  expect((await editor.get(`${path}/draft`)).json()).toEqual({
    workflowId: path.split("/")[1],
    base: head,
    head,
    changed: false,
    updatedAt: null,
    version: 0,
    files: [
      { path: "config.yaml", bytes: MANIFEST.length, text: MANIFEST, executable: false },
      { path: "main.py", bytes: PROGRAM.length, text: PROGRAM, executable: false },
    ],
    conflicts: [],
    problems: [],
    warnings: [],
  });
});

test("a draft, saved and changed back, is changed and then not, its versions go on", async () => {
  const editor = await anEditor(service);
  const { path, head } = await aCommitted(editor);
  const saved = await save(editor, path, 0, [{ path: "main.py", text: "new\n" }]);
  expect(saved).toMatchObject({ status: 200, version: 1, changed: true, problems: [] });
  expect(await draftOf(editor, path)).toMatchObject({ version: 1, base: head, changed: true });
  expect(textsOf(await draftOf(editor, path))).toEqual({ "config.yaml": MANIFEST, "main.py": "new\n" });
  expect(await save(editor, path, 1, [{ path: "main.py", text: PROGRAM }])).toMatchObject({
    version: 2,
    changed: false,
  });
  expect(await draftOf(editor, path)).toMatchObject({ version: 2, changed: false });
});

test("a draft, saved in a tab that has not seen the last change, is refused with the stored version and loses nothing", async () => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  await save(editor, path, 0, [{ path: "a.txt", text: "one" }]);
  for (const version of [0, 2])
    expect(await save(editor, path, version, [{ path: "a.txt", text: "two" }])).toMatchObject({
      status: 409,
      error: "Conflict",
      version: 1,
    });
  expect(textsOf(await draftOf(editor, path))["a.txt"]).toBe("one");
});

test("a draft, saved by many tabs at once, takes one of them for each version", async () => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  for (const version of [0, 1]) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_none, tab) =>
        save(editor, path, version, [{ path: `tab-${version}-${tab}`, text: "" }]),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  }
  expect((await draftOf(editor, path)).files).toHaveLength(4);
});

test("drafts, of two users, are each their own", async () => {
  const one = await anEditor(service);
  const other = await anEditor(service, { accountId: one.accountId });
  const { path } = await aCommitted(one);
  await save(one, path, 0, [{ path: "main.py", text: "one" }]);
  await save(other, path, 0, [{ path: "main.py", text: "other" }]);
  expect(textsOf(await draftOf(one, path))["main.py"]).toBe("one");
  expect(textsOf(await draftOf(other, path))["main.py"]).toBe("other");
  expect((await one.delete(`${path}/draft`)).json()).toEqual({ discarded: true });
  expect((await one.delete(`${path}/draft`)).json()).toEqual({ discarded: false });
  expect(await draftOf(one, path)).toMatchObject({ version: 0, changed: false });
  expect(textsOf(await draftOf(other, path))["main.py"]).toBe("other");
});

test("a folder of a draft, renamed and deleted, takes all its files with it", async () => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  const files = ["lib/a.py", "lib/deep/b.py", "library.py"].map((name) => ({ path: name, text: name }));
  await save(editor, path, 0, [...files, { path: "lib/run.sh", text: "#!", executable: true }]);
  expect(await save(editor, path, 1, [{ path: "lib", renameTo: "src/lib" }])).toMatchObject({ status: 200 });
  const renamed = await draftOf(editor, path);
  expect(textsOf(renamed)).toMatchObject({
    "src/lib/a.py": "lib/a.py",
    "src/lib/deep/b.py": "lib/deep/b.py",
    "library.py": "library.py",
  });
  expect(renamed.files.filter((file) => file.executable).map((file) => file.path)).toEqual(["src/lib/run.sh"]);
  expect(renamed.files).toHaveLength(6);
  await save(editor, path, 2, [
    { path: "src", delete: true },
    { path: "never.there", delete: true },
  ]);
  expect((await draftOf(editor, path)).files.map((file) => file.path)).toEqual([
    "config.yaml",
    "library.py",
    "main.py",
  ]);
});

test("a binary file of a draft, and a long one, are downloaded byte by byte and shown without text", async () => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  const bytes = Buffer.from([0, 255, 1, 254, 13, 10]);
  const long = "x".repeat(1_048_577);
  await save(editor, path, 0, [
    { path: "data/ä b.bin", base64: bytes.toString("base64") },
    { path: "latin.txt", base64: Buffer.from("ä", "latin1").toString("base64") },
    { path: "bom.txt", text: "\ufeffx" },
    { path: "long.txt", text: long },
  ]);
  const { files } = await draftOf(editor, path);
  expect(files.find((file) => file.path === "data/ä b.bin")).toEqual({
    path: "data/ä b.bin",
    bytes: 6,
    text: null,
    executable: false,
  });
  const texts = Object.fromEntries(files.map((file) => [file.path, file.text]));
  expect(texts).toMatchObject({ "latin.txt": null, "bom.txt": "\ufeffx", "long.txt": null });
  const answer = await editor.get(`${path}/draft/files/${encodeURIComponent("data/ä b.bin")}`);
  expect([answer.status, answer.bytes]).toEqual([200, bytes]);
  expect(answer.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename="_ b.bin"; filename*=UTF-8''%C3%A4%20b.bin`,
    "x-content-type-options": "nosniff",
  });
  expect((await editor.get(`${path}/draft/files/nothing`)).json()["error"]).toBe("Not found");
});

test.each([
  ["a path above the folder", [{ path: "../x", text: "" }], "../x"],
  ["an absolute path", [{ path: "/etc/passwd", text: "" }], "/etc/passwd"],
  ["git's own folder", [{ path: ".GIT/config", text: "" }], ".GIT/config"],
  ["a backslash", [{ path: "a\\b", text: "" }], "a\\b"],
  ["a file where a folder is", [{ path: "main.py/x", text: "" }], "main.py"],
  ["a rename to a refused name", [{ path: "main.py", renameTo: "a/../b" }], "a/../b"],
  ["a rename onto a file", [{ path: "main.py", renameTo: "config.yaml" }], "config.yaml"],
  ["a rename of nothing", [{ path: "nothing", renameTo: "x" }], "nothing"],
  [
    "too many bytes",
    [
      { path: "a", base64: Buffer.alloc(10_000_001).toString("base64") },
      { path: "b", base64: Buffer.alloc(10_000_000).toString("base64") },
    ],
    ".",
  ],
  ["too many files", Array.from({ length: 999 }, (_none, index) => ({ path: `f${index}`, text: "" })), "."],
])(
  "a draft, given %s, is refused with the file's name, and nothing of the save is kept",
  async (_what, changes, file) => {
    const editor = await anEditor(service);
    const { path } = await aCommitted(editor);
    const refused = await save(editor, path, 0, [...changes, { path: "kept.txt", text: "" }].slice(0, 1_000));
    expect([refused.status, refused.details.map((detail) => detail.file)]).toEqual([
      400,
      expect.arrayContaining([file]),
    ]);
    expect(await draftOf(editor, path)).toMatchObject({ version: 0, changed: false });
  },
);

test.each([
  ["no changes", { version: 0, changes: [] }],
  ["no version", { changes: [{ path: "a", text: "" }] }],
  ["a change of two kinds", { version: 0, changes: [{ path: "a", text: "", delete: true }] }],
  ["nothing to do", { version: 0, changes: [{ path: "a" }] }],
  ["delete, but not", { version: 0, changes: [{ path: "a", delete: false }] }],
  ["an executable that is deleted", { version: 0, changes: [{ path: "a", delete: true, executable: true }] }],
  ["base64 that is none", { version: 0, changes: [{ path: "a", base64: "a" }] }],
  ["half of a character", { version: 0, changes: [{ path: "a", text: "\ud800" }] }],
  ["a name that cannot be stored", { version: 0, changes: [{ path: "a\0", text: "" }] }],
])("a draft, sent %s, is refused", async (_what, body) => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  const answer = await editor.patch(`${path}/draft`, body);
  expect([answer.status, answer.json()["error"]]).toEqual([400, "Invalid request"]);
});

test("a draft, with mistakes in its config.yaml, is saved and told of them at their line", async () => {
  const editor = await anEditor(service);
  const { path } = await aCommitted(editor);
  const saved = await save(editor, path, 0, [{ path: "config.yaml", text: "name: x\ntmeout: 5\n" }]);
  expect(saved).toMatchObject({ status: 200, version: 1 });
  expect(saved.problems).toMatchObject([{ file: "config.yaml", line: 2, column: 1 }]);
  expect(await draftOf(editor, path)).toMatchObject({ problems: saved.problems });
  const gone = await save(editor, path, 1, [{ path: "config.yaml", delete: true }]);
  expect(gone.problems).toMatchObject([{ file: "config.yaml", message: expect.stringContaining("missing") }]);
});

test("the preview of a draft, tells which of the last calls its commit would refuse, and why", async () => {
  const editor = await anEditor(service);
  const { workflowId, path } = await editor.create();
  await save(editor, path, 0, FILES);
  const first = await editor.post(`${path}/commits`, { message: "First", version: 1, expectedHead: null });
  const commitId = first.json()["commitId"] as CommitId;
  expect((await editor.get(`${path}/draft/preview`)).json()["calls"]).toBeUndefined();
  const call = (trigger: "api" | "form" | "schedule", who: string | null) => {
    const workflow = { accountId: editor.accountId, workflowId, commitId } as TestWorkflow;
    return anExecution(service.db, { workflow, trigger, inputs: { who } });
  };
  for (const who of ["World", null, "Ada", "Grace Hopper"]) await call("api", who);
  await call("form", "Ada");
  await call("schedule", "Grace Hopper");
  const last = await call("api", "Katherine Johnson");
  await save(editor, path, 0, [{ path: "config.yaml", text: MANIFEST.replace("default: World", "max_length: 5") }]);
  const { calls } = (await editor.get(`${path}/draft/preview`)).json() as unknown as DraftPreview;
  // What was a default is what the caller did not send: now it is required.
  expect(calls?.triggers).toEqual([
    { trigger: "api", calls: 5, refused: 4 },
    { trigger: "form", calls: 1, refused: 0 },
  ]);
  expect(calls?.examples).toHaveLength(3);
  expect(calls?.examples[0]).toMatchObject({
    executionId: last,
    trigger: "api",
    problems: [{ input: "who", message: expect.stringContaining("5") }],
  });
  // The last hundred count, and these are all of them.
  for (let count = 0; count < 100; count += 1) await call("api", "Eve");
  const later = (await editor.get(`${path}/draft/preview`)).json() as unknown as DraftPreview;
  expect(later.calls).toEqual({ triggers: [{ trigger: "api", calls: 100, refused: 0 }], examples: [] });
  await save(editor, path, 1, [{ path: "config.yaml", text: MANIFEST.replace("enabled: true", "enabled: false") }]);
  const off = (await editor.get(`${path}/draft/preview`)).json() as unknown as DraftPreview;
  expect(off.calls?.triggers).toMatchObject([{ calls: 100, refused: 100 }]);
});

test("the preview of a draft, shows files, what changes for callers and when it will run", async () => {
  const editor = await anEditor(service);
  const { path, head } = await aCommitted(editor);
  const schedule =
    '  schedule: { enabled: true, cron: "0 9 * * 1-5", timezone: Europe/Berlin, payload: { who: me } }\n';
  const config = `${MANIFEST.replace("default: World", "max_length: 5")}${schedule}`;
  await save(editor, path, 0, [
    { path: "config.yaml", text: config },
    { path: "main.py", delete: true },
    { path: "start.py", text: "def main():\n    pass\n" },
  ]);
  const invalid = (await editor.get(`${path}/draft/preview`)).json();
  expect(invalid).toMatchObject({ problems: [{ file: "main.py" }], inputs: [], schedule: null, nextRuns: [] });
  await save(editor, path, 1, [{ path: "config.yaml", text: `entrypoint: start.py\n${config}` }]);
  const preview = (await editor.get(`${path}/draft/preview`)).json();
  expect(preview).toEqual({
    head,
    problems: [],
    warnings: [],
    files: {
      added: [{ path: "start.py", linesAdded: 2, linesRemoved: 0 }],
      changed: [{ path: "config.yaml", linesAdded: 3, linesRemoved: 1 }],
      removed: [{ path: "main.py", linesAdded: 0, linesRemoved: 2 }],
    },
    inputs: [
      {
        input: "who",
        change: "changed",
        breaking: true,
        message: "now required, other constraints (max_length), another default",
      },
    ],
    schedule: { change: "added", before: null, after: "every weekday at 09:00, Europe/Berlin" },
    nextRuns: expect.any(Array),
  });
  expect(preview["nextRuns"]).toHaveLength(10);
  expect(await draftOf(editor, path)).toMatchObject({ version: 2, head });
});
