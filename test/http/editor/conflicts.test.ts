import { expect, test } from "@jest/globals";
import { aFileService } from "../service.ts";
import { anEditor, commit, type Editor, FILES, save } from "./callers.ts";

const service = await aFileService();

interface Conflict {
  readonly path: string;
  readonly commitId: string;
}

interface Place {
  /** Whose draft it is. */
  readonly author: Editor;
  readonly other: Editor;
  readonly path: string;
  /** The latest commit. */
  readonly head: string;
}

/** A draft whose files `a` and `b` somebody else has changed, too, in a commit that the draft has taken over. */
async function aConflict(): Promise<Place> {
  const other = await anEditor(service);
  const author = await anEditor(service, { accountId: other.accountId, role: "member" });
  const { path } = await other.create();
  const { commitId: first } = await commit(other, path, [...FILES, ...written("was")], null);
  await save(author, path, written("mine"));
  const { commitId: head } = await commit(other, path, written("theirs"), first);
  await takeOver(author, path);
  return { author, other, path, head };
}

function written(text: string, ...names: string[]): { path: string; text: string }[] {
  return (names.length === 0 ? ["a", "b"] : names).map((name) => ({ path: name, text }));
}

async function takeOver(editor: Editor, path: string) {
  const { version } = (await editor.get(`${path}/draft`)).json();
  const answer = await editor.post(`${path}/draft/rebase`, { version });
  expect(answer.status).toBe(200);
  return answer.json() as { conflicts: string[]; draft: { conflicts: Conflict[]; version: number } };
}

async function conflictsOf(editor: Editor, path: string): Promise<Conflict[]> {
  return (await editor.get(`${path}/draft`)).json()["conflicts"] as Conflict[];
}

async function settle(editor: Editor, path: string, conflict: Conflict): Promise<Conflict[]> {
  const answer = await editor.post(`${path}/draft/settle`, conflict);
  expect([answer.status, answer.status === 200 ? "" : answer.text()]).toEqual([200, ""]);
  return answer.json()["conflicts"] as Conflict[];
}

test("files that both have changed, taken over, are told with the draft until they are settled one by one", async () => {
  const { author, other, path, head } = await aConflict();
  const [a, b] = [
    { path: "a", commitId: head },
    { path: "b", commitId: head },
  ];
  expect(await conflictsOf(author, path)).toEqual([a, b]);
  // The draft is its author's, and so is what is to be decided about it.
  expect(await conflictsOf(other, path)).toEqual([]);
  await save(other, path, [{ path: "c", text: "" }]);
  expect(await settle(other, path, a)).toEqual([]);
  // Writing on decides nothing.
  await save(author, path, written("both", "a"));
  expect(await conflictsOf(author, path)).toEqual([a, b]);
  expect(await settle(author, path, a)).toEqual([b]);
  expect(await settle(author, path, a)).toEqual([b]);
  expect(await conflictsOf(author, path)).toEqual([b]);
  expect(await settle(author, path, b)).toEqual([]);
});

test("files that both have changed, changed again by a later commit, are to be decided about that one", async () => {
  const { author, other, path, head } = await aConflict();
  const { commitId: latest } = await commit(
    other,
    path,
    [...written("theirs again", "a"), ...written("new", "c")],
    head,
  );
  const taken = await takeOver(author, path);
  const expected = [
    { path: "a", commitId: latest },
    { path: "b", commitId: head },
  ];
  expect([taken.conflicts, taken.draft.conflicts]).toEqual([["a"], expected]);
  // Somebody who has looked at the commit before has not seen this one.
  expect(await settle(author, path, { path: "a", commitId: head })).toEqual(expected);
  expect(await settle(author, path, { path: "a", commitId: latest })).toEqual([{ path: "b", commitId: head }]);
});

test("files that both have changed, committed or discarded with their draft, are no longer to be decided", async () => {
  const discarded = await aConflict();
  await discarded.author.delete(`${discarded.path}/draft`);
  expect(await conflictsOf(discarded.author, discarded.path)).toEqual([]);
  await save(discarded.author, discarded.path, written("begun anew", "a"));
  expect(await conflictsOf(discarded.author, discarded.path)).toEqual([]);

  const { author, path, head } = await aConflict();
  const made = await commit(author, path, written("agreed", "c"), head);
  expect(made.status).toBe(201);
  expect(await conflictsOf(author, path)).toEqual([]);
  await save(author, path, written("begun anew", "a"));
  expect(await conflictsOf(author, path)).toEqual([]);
});

test("a rebase, of a draft that was changed meanwhile, notes nothing", async () => {
  const { author, other, path, head } = await aConflict();
  await commit(other, path, written("theirs again", "a"), head);
  const { version } = (await author.get(`${path}/draft`)).json();
  expect((await author.post(`${path}/draft/rebase`, { version: Number(version) - 1 })).status).toBe(409);
  expect(await conflictsOf(author, path)).toEqual([
    { path: "a", commitId: head },
    { path: "b", commitId: head },
  ]);
});

test.each([
  ["no commit", { path: "a" }],
  ["a commit that is no id", { path: "a", commitId: "HEAD" }],
  ["a name that cannot be stored", { path: "a\0", commitId: "0".repeat(40) }],
])("a settlement, with %s, is refused", async (_what, body) => {
  const { author, path } = await aConflict();
  expect((await author.post(`${path}/draft/settle`, body)).status).toBe(400);
  expect(await conflictsOf(author, path)).toHaveLength(2);
});
