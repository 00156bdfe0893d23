import { expect, test } from "@jest/globals";
import { aFileService } from "../service.ts";
import { anEditor, commit, type Editor, FILES, MANIFEST, PROGRAM, save } from "./callers.ts";

const service = await aFileService();

async function filesOf(editor: Editor, path: string, commitId: string): Promise<Record<string, string | null>> {
  const answer = (await editor.get(`${path}/commits/${commitId}`)).json() as {
    files: { path: string; text: string | null }[];
  };
  return Object.fromEntries(answer.files.map((file) => [file.path, file.text]));
}

test("a draft, committed, is the latest commit, its author is known, and the draft is gone", async () => {
  const editor = await anEditor(service, { role: "member" });
  const { path } = await editor.create();
  const made = await commit(editor, path, FILES, null, "First\n\nfor all");
  expect(made).toMatchObject({ status: 201, changed: true, warnings: [], buildId: expect.stringMatching(/^bld_/) });
  expect((await editor.get(path)).json()).toMatchObject({ commitId: made.commitId, name: "Greeter" });
  expect((await editor.get(`${path}/draft`)).json()).toMatchObject({ version: 0, base: made.commitId, changed: false });
  expect((await editor.get(`${path}/commits/${made.commitId}`)).json()).toEqual({
    commitId: made.commitId,
    parentId: null,
    message: "First\n\nfor all",
    author: { email: editor.email },
    createdAt: expect.any(String),
    executions: 0,
    isHead: true,
    manifest: expect.objectContaining({ name: "Greeter" }),
    files: [
      { path: "config.yaml", bytes: MANIFEST.length, text: MANIFEST, executable: false },
      { path: "main.py", bytes: PROGRAM.length, text: PROGRAM, executable: false },
    ],
  });
  const build = await editor.get(`${path}/commits/${made.commitId}/build-log`);
  expect(build.json()).toEqual({ environment: null, log: null });
});

test("a draft, committed after somebody else committed, is refused with the head, kept, and committed once taken over", async () => {
  const one = await anEditor(service);
  const other = await anEditor(service, { accountId: one.accountId, role: "member" });
  const { path } = await one.create();
  const { commitId: first } = await commit(one, path, [...FILES, { path: "notes.md", text: "a" }], null);
  const version = await save(other, path, [{ path: "main.py", text: "other's" }]);
  const { commitId: second } = await commit(
    one,
    path,
    [
      { path: "notes.md", text: "b" },
      { path: "new.md", text: "" },
    ],
    first,
  );

  const refused = await other.post(`${path}/commits`, { message: "", version, expectedHead: first });
  expect([refused.status, refused.json()]).toMatchObject([409, { error: "Conflict", head: second }]);
  expect((await other.get(`${path}/draft`)).json()).toMatchObject({
    version,
    base: first,
    head: second,
    changed: true,
  });

  const rebased = await other.post(`${path}/draft/rebase`, { version });
  expect(rebased.json()).toMatchObject({ conflicts: [], draft: { version: version + 1, base: second, changed: true } });
  const made = await other.post(`${path}/commits`, { message: "", version: version + 1, expectedHead: second });
  expect(made.status).toBe(201);
  expect(await filesOf(other, path, made.json()["commitId"] as string)).toEqual({
    "config.yaml": MANIFEST,
    "main.py": "other's",
    "notes.md": "b",
    "new.md": "",
  });
});

test("a draft, taking over what others committed, keeps its own of what both have changed, and names it", async () => {
  const one = await anEditor(service);
  const other = await anEditor(service, { accountId: one.accountId });
  const { path } = await one.create();
  const extra = ["both", "gone", "theirs", "kept", "same"].map((name) => ({ path: name, text: "was" }));
  const { commitId: first } = await commit(one, path, [...FILES, ...extra], null);
  const version = await save(other, path, [
    { path: "both", text: "mine" },
    { path: "gone", delete: true },
    { path: "same", text: "agreed" },
  ]);
  await commit(
    one,
    path,
    [
      { path: "both", text: "theirs" },
      { path: "gone", text: "theirs" },
      { path: "theirs", delete: true },
      { path: "same", text: "agreed" },
    ],
    first,
  );
  const wrong = await other.post(`${path}/draft/rebase`, { version: version + 5 });
  expect([wrong.status, wrong.json()["version"]]).toEqual([409, version]);
  const { conflicts, draft } = (await other.post(`${path}/draft/rebase`, { version })).json() as {
    conflicts: string[];
    draft: { files: { path: string; text: string }[] };
  };
  expect(conflicts).toEqual(["both", "gone"]);
  const texts = Object.fromEntries(draft.files.map((file) => [file.path, file.text]));
  expect(texts).toEqual({ "config.yaml": MANIFEST, "main.py": PROGRAM, both: "mine", kept: "was", same: "agreed" });
});

test("a commit, of a draft that another tab has changed, is refused with the stored version", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const version = await save(editor, path, FILES);
  await save(editor, path, [{ path: "more.txt", text: "" }]);
  const answer = await editor.post(`${path}/commits`, { message: "", version, expectedHead: null });
  expect([answer.status, answer.json()["version"]]).toEqual([409, version + 1]);
  expect((await editor.get(path)).json()).toMatchObject({ commitId: null });
});

test("a commit, of two users at once, is one of them, and the other is told which", async () => {
  const editors = [await anEditor(service)];
  editors.push(await anEditor(service, { accountId: (editors[0] as Editor).accountId }));
  const { path } = await (editors[0] as Editor).create();
  const { commitId: head } = await commit(editors[0] as Editor, path, FILES, null);
  const versions: number[] = [];
  for (const editor of editors) versions.push(await save(editor, path, [{ path: "who", text: editor.email }]));
  const answers = await Promise.all(
    editors.map((editor, index) =>
      editor.post(`${path}/commits`, { message: "", version: versions[index], expectedHead: head }),
    ),
  );
  expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([201, 409]);
  const winner = answers.find(({ status }) => status === 201)?.json()["commitId"];
  expect(answers.find(({ status }) => status === 409)?.json()["head"]).toBe(winner);
});

test("a commit, of files with problems, is refused with all of them and leaves head and draft", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  const version = await save(editor, path, [{ path: "config.yaml", text: "entrypoint: no.py\nnmae: x\n" }]);
  const answer = await editor.post(`${path}/commits`, { message: "", version, expectedHead: commitId });
  expect([answer.status, answer.json()]).toMatchObject([
    400,
    { details: expect.arrayContaining([expect.objectContaining({ file: "config.yaml", line: 2 })]) },
  ]);
  expect((await editor.get(path)).json()).toMatchObject({ commitId });
  expect((await editor.get(`${path}/draft`)).json()).toMatchObject({ version, changed: true });
});

test("a commit, of the files of the head, makes none and forgets the draft", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  const again = await commit(editor, path, [{ path: "main.py", text: PROGRAM }], commitId);
  expect(again).toMatchObject({ status: 201, changed: false, commitId });
  expect((await editor.get(`${path}/draft`)).json()).toMatchObject({ version: 0 });
});

test("commits, page by page, come newest first; restoring one makes its files the latest", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const ids: string[] = [];
  for (const text of ["1", "2", "3"]) {
    const changes = ids.length === 0 ? [...FILES, { path: "n", text }] : [{ path: "n", text }];
    ids.push((await commit(editor, path, changes, ids.at(-1) ?? null, `Number ${text}`)).commitId);
  }
  const page = async (query: string) =>
    (await editor.get(`${path}/commits?${query}`)).json() as {
      commits: { commitId: string; isHead: boolean; message: string; parentId: string | null }[];
      nextCursor: string | null;
    };
  const first = await page("limit=2");
  expect(first.commits.map(({ commitId }) => commitId)).toEqual([ids[2], ids[1]]);
  expect(first.commits.map(({ isHead }) => isHead)).toEqual([true, false]);
  const second = await page(`limit=2&cursor=${first.nextCursor}`);
  expect([second.commits.map(({ commitId }) => commitId), second.nextCursor]).toEqual([[ids[0]], null]);
  expect((await editor.get(`${path}/commits?limit=0`)).status).toBe(400);
  expect((await editor.get(`${path}/commits?cursor=x`)).status).toBe(400);

  const restore = `${path}/commits/${ids[0]}/restore`;
  const stale = await editor.post(restore, { expectedHead: ids[1] });
  expect([stale.status, stale.json()["head"]]).toEqual([409, ids[2]]);
  const restored = await editor.post(restore, { expectedHead: ids[2] });
  expect(restored.status).toBe(201);
  const head = restored.json()["commitId"] as string;
  expect(await filesOf(editor, path, head)).toMatchObject({ n: "1" });
  expect((await editor.get(`${path}/commits/${head}`)).json()).toMatchObject({
    message: `Restore ${(ids[0] as string).slice(0, 12)}: Number 1`,
    parentId: ids[2],
    isHead: true,
  });
  expect((await editor.post(`${path}/commits/${"0".repeat(40)}/restore`, { expectedHead: head })).status).toBe(404);
});

test("a draft, with a name that nothing defines and an import that nothing uses, is saved and committed with the same warnings", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const change = async (version: number, changes: readonly object[]) =>
    (await editor.patch(`${path}/draft`, { version, changes })).json();
  const text = "import os\n\ndef main(who):\n    return helo(who)\n";
  const firstLine = { line: 1, column: 1, endLine: 2, endColumn: 1, text: "" };
  const removal = { title: "Remove unused import: `os`", edits: [firstLine] };
  const warnings = [
    { file: "main.py", line: 1, column: 8, message: "`os` imported but unused (Ruff F401).", fix: removal },
    { file: "main.py", line: 4, column: 12, message: "Undefined name `helo` (Ruff F821)." },
  ];
  const files = [
    { path: "config.yaml", text: MANIFEST },
    { path: "main.py", text },
  ];
  expect(await change(0, files)).toMatchObject({ problems: [], warnings });
  expect((await editor.get(`${path}/draft`)).json()).toMatchObject({ warnings });
  expect((await editor.get(`${path}/draft/preview`)).json()).toMatchObject({ problems: [], warnings });
  const broken = await change(1, [{ path: "config.yaml", text: "nmae: x\n" }]);
  expect(broken).toMatchObject({ problems: [{ file: "config.yaml" }], warnings });
  await change(2, [{ path: "config.yaml", text: MANIFEST }]);
  const committed = await editor.post(`${path}/commits`, { message: "", version: 3, expectedHead: null });
  expect([committed.status, committed.json()["warnings"]]).toEqual([201, warnings]);
});
