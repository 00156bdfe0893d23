import { expect, test } from "@jest/globals";
import { aFileService } from "../service.ts";
import { anEditor, commit, FILES, PROGRAM, save } from "./callers.ts";

const service = await aFileService();

test("the difference, of two commits, has the files that differ with both texts, and binary ones without", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const binary = (byte: number) => ({ path: "data.bin", base64: Buffer.from([0, byte]).toString("base64") });
  const { commitId: from } = await commit(
    editor,
    path,
    [...FILES, binary(1), { path: "lib/old.py", text: "old\n" }],
    null,
  );
  const changes = [
    { path: "main.py", text: "new\n" },
    binary(2),
    { path: "lib/old.py", delete: true },
    { path: "lib/new.py", text: "" },
    { path: "config.yaml", text: (FILES[0] as { text: string }).text, executable: true },
  ];
  const { commitId: to } = await commit(editor, path, changes, from);
  const config = { before: (FILES[0] as { text: string }).text, after: (FILES[0] as { text: string }).text };
  expect((await editor.get(`${path}/diff?from=${from}&to=${to}`)).json()).toEqual({
    files: [
      {
        path: "config.yaml",
        status: "changed",
        ...config,
        binary: false,
        bytesBefore: config.before.length,
        bytesAfter: config.after.length,
      },
      { path: "data.bin", status: "changed", before: null, after: null, binary: true, bytesBefore: 2, bytesAfter: 2 },
      { path: "lib/new.py", status: "added", before: null, after: "", binary: false, bytesBefore: null, bytesAfter: 0 },
      {
        path: "lib/old.py",
        status: "removed",
        before: "old\n",
        after: null,
        binary: false,
        bytesBefore: 4,
        bytesAfter: null,
      },
      {
        path: "main.py",
        status: "changed",
        before: PROGRAM,
        after: "new\n",
        binary: false,
        bytesBefore: PROGRAM.length,
        bytesAfter: 4,
      },
    ],
  });
  expect((await editor.get(`${path}/diff?from=${to}&to=${to}`)).json()).toEqual({ files: [] });
});

test("the difference, to the draft, has what the caller has written; from nothing, all there is", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const { commitId } = await commit(editor, path, FILES, null);
  await save(editor, path, [{ path: "notes.md", text: "hi" }]);
  const toDraft = { path: "notes.md", status: "added", before: null, after: "hi" };
  expect((await editor.get(`${path}/diff?from=${commitId}&to=draft`)).json()).toMatchObject({ files: [toDraft] });
  expect((await editor.get(`${path}/diff?from=&to=${commitId}`)).json()).toMatchObject({
    files: [
      { path: "config.yaml", status: "added" },
      { path: "main.py", status: "added" },
    ],
  });
});

test("the difference, of many files, reads them all, however many statements that takes", async () => {
  const editor = await anEditor(service);
  const { path } = await editor.create();
  const many = Array.from({ length: 120 }, (_none, index) => ({ path: `file-${index}`, text: `content ${index}` }));
  const { commitId } = await commit(editor, path, [...FILES, ...many], null);
  const { files } = (await editor.get(`${path}/diff?to=${commitId}`)).json() as {
    files: { path: string; after: string }[];
  };
  expect(files).toHaveLength(122);
  for (const { path: name, text } of many) expect(files.find((file) => file.path === name)?.after).toBe(text);
});

test("the difference, of a commit of another workflow or of none, is refused", async () => {
  const editor = await anEditor(service);
  const [one, other] = [await editor.create(), await editor.create()];
  const { commitId } = await commit(editor, one.path, FILES, null);
  const foreign = await editor.get(`${other.path}/diff?to=${commitId}`);
  expect([foreign.status, foreign.json()["error"]]).toEqual([404, "Not found"]);
  for (const query of ["to=x", "from=x&to=draft", `from=draft&to=${commitId}`])
    expect([(await editor.get(`${one.path}/diff?${query}`)).status, query]).toEqual([400, query]);
});
