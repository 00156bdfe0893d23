import { expect, test } from "@jest/globals";
import type { DraftChange } from "../../../web/src/code/draft.ts";
import { createDraftSaving, type SaveAnswer, type StoredDraft } from "../../../web/src/code/draft-saving.ts";

const STORED: StoredDraft = {
  base: null,
  head: null,
  changed: false,
  updatedAt: null,
  version: 4,
  conflicts: [],
  problems: [],
  warnings: [],
  files: [{ path: "main.py", bytes: 1, text: "1", executable: false }],
};

/** A service that answers what the test says, and a clock that moves when the test says. */
function aDesk(stored = STORED) {
  const timers: { ms: number; callback: () => void }[] = [];
  const sent: { version: number; changes: readonly DraftChange[]; answer: (answer: SaveAnswer) => void }[] = [];
  let loaded = stored;
  const saving = createDraftSaving(stored, {
    save: (version, changes) => new Promise((answer) => sent.push({ version, changes, answer })),
    load: async () => loaded,
    after(ms, callback) {
      const timer = { ms, callback };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    saving,
    timers,
    sent,
    set loaded(draft: StoredDraft) {
      loaded = draft;
    },
    async tick() {
      for (const { callback } of timers.splice(0)) callback();
      await settle();
    },
    async answer(answer: SaveAnswer) {
      sent.at(-1)?.answer(answer);
      await settle();
    },
  };
}

function saved(version: number): SaveAnswer {
  return { kind: "saved", version, updatedAt: "2026-11-21T10:00:00Z", changed: true, problems: [], warnings: [] };
}

test("a draft, while it is written, is saved once when there is quiet, on top of its version", async () => {
  const desk = aDesk();
  for (const text of ["a", "ab", "abc"]) desk.saving.change({ path: "main.py", text });
  expect(desk.saving.getState()).toMatchObject({ status: "unsaved", unsaved: ["main.py"], changed: true });
  expect(desk.timers).toHaveLength(1);
  await desk.tick();
  expect(desk.sent).toMatchObject([{ version: 4, changes: [{ path: "main.py", text: "abc" }] }]);
  expect(desk.saving.getState().status).toBe("saving");
  await desk.answer(saved(5));
  expect(desk.saving.getState()).toMatchObject({ status: "saved", version: 5, unsaved: [] });
});

test("a draft, written on while it is saved, is saved again later and on top of that", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "main.py", text: "a" });
  await desk.tick();
  desk.saving.change({ path: "main.py", text: "ab" });
  await desk.tick();
  expect(desk.sent).toHaveLength(1);
  await desk.answer(saved(5));
  expect(desk.saving.getState().status).toBe("unsaved");
  await desk.tick();
  expect(desk.sent[1]).toMatchObject({ version: 5, changes: [{ path: "main.py", text: "ab" }] });
});

test("saveNow, while a save is under way and more waits, answers when all of it is saved", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "main.py", text: "a" });
  await desk.tick();
  desk.saving.change({ path: "main.py", text: "ab" });
  let done: boolean | undefined;
  void desk.saving.saveNow().then((all) => {
    done = all;
  });
  await desk.answer(saved(5));
  expect([done, desk.sent.length]).toEqual([undefined, 2]);
  await desk.answer(saved(6));
  expect(done).toBe(true);
});

test("a draft, without an answer, keeps what was written and tries again, later each time", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "main.py", text: "a" });
  await desk.tick();
  await desk.answer({ kind: "failed", message: "No connection." });
  expect(desk.saving.getState()).toMatchObject({ status: "offline", message: "No connection.", unsaved: ["main.py"] });
  const first = desk.timers[0]?.ms as number;
  await desk.tick();
  await desk.answer({ kind: "failed", message: "No connection." });
  expect(desk.timers[0]?.ms).toBeGreaterThan(first);
  await desk.tick();
  await desk.answer(saved(5));
  expect(desk.sent.map(({ changes }) => changes)).toEqual(Array(3).fill([{ path: "main.py", text: "a" }]));
  expect(desk.saving.getState().status).toBe("saved");
});

test("a draft, which is refused, says why and sends everything with the next change", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "bad", text: "x" });
  await desk.tick();
  await desk.answer({ kind: "refused", message: "Too large." });
  expect(desk.saving.getState()).toMatchObject({ status: "refused", message: "Too large." });
  expect(desk.timers).toEqual([]);
  desk.saving.change({ path: "bad", delete: true });
  await desk.tick();
  expect(desk.sent[1]?.changes).toEqual([
    { path: "bad", text: "x" },
    { path: "bad", delete: true },
  ]);
});

test("a conflict, with another tab, stops saving until it is decided", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "main.py", text: "mine" });
  await desk.tick();
  await desk.answer({ kind: "conflict" });
  desk.saving.change({ path: "main.py", text: "mine too" });
  await desk.tick();
  expect(desk.sent).toHaveLength(1);
  expect(desk.saving.getState()).toMatchObject({ status: "conflict", unsaved: ["main.py"] });
  expect(await desk.saving.saveNow()).toBe(false);
});

test.each([
  ["mine", "mine", [{ path: "main.py", text: "mine" }]],
  ["theirs", "theirs", undefined],
] as const)("a conflict, decided for %s, ends with %s text and the others' other files", async (keep, text, sent) => {
  const desk = aDesk();
  desk.saving.change({ path: "main.py", text: "mine" });
  await desk.tick();
  await desk.answer({ kind: "conflict" });
  const other = { path: "other.py", bytes: 1, text: "o", executable: false };
  const main = { path: "main.py", bytes: 6, text: "theirs", executable: false };
  desk.loaded = { ...STORED, version: 9, files: [main, other] };
  const resolved = desk.saving.resolveConflict(keep);
  await new Promise((resolve) => setImmediate(resolve));
  expect(desk.sent[1]?.changes).toEqual(sent);
  if (sent !== undefined) expect(desk.sent[1]?.version).toBe(9);
  await desk.answer(saved(10));
  await resolved;
  const { files, status } = desk.saving.getState();
  expect([files.get("main.py")?.text, files.get("other.py")?.text, status]).toEqual([text, "o", "saved"]);
});

test("refresh, when another browser has decided what this one still asks about, asks no more; what is written here stays", async () => {
  const conflicts = ["a", "b"].map((path) => ({ path, commitId: "1".repeat(40) }));
  const desk = aDesk({ ...STORED, conflicts });
  expect(desk.saving.getState().conflicts).toEqual(conflicts);
  desk.saving.change({ path: "main.py", text: "2" });
  desk.saving.setConflicts(conflicts.slice(1));
  expect(desk.saving.getState()).toMatchObject({ conflicts: conflicts.slice(1), unsaved: ["main.py"], version: 4 });
  await desk.tick();
  await desk.answer(saved(5));
  desk.loaded = { ...STORED, version: 5, files: [{ path: "main.py", bytes: 1, text: "2", executable: false }] };
  await desk.saving.refresh();
  expect(desk.saving.getState()).toMatchObject({ conflicts: [], version: 5, status: "saved" });
});

test("refresh, when another tab has saved and nothing waits here, shows what it has saved", async () => {
  const desk = aDesk();
  desk.loaded = { ...STORED, version: 5, files: [{ path: "main.py", bytes: 3, text: "new", executable: false }] };
  await desk.saving.refresh();
  expect(desk.saving.getState().files.get("main.py")?.text).toBe("new");
  desk.saving.change({ path: "main.py", text: "mine" });
  desk.loaded = { ...STORED, version: 6 };
  await desk.saving.refresh();
  expect(desk.saving.getState().files.get("main.py")?.text).toBe("mine");
});

test("replace, while something waits, puts it on top", async () => {
  const desk = aDesk();
  desk.saving.change({ path: "new.py", text: "n" });
  desk.saving.replace({ ...STORED, version: 8, head: "abc" });
  expect(desk.saving.getState()).toMatchObject({ version: 8, head: "abc", status: "unsaved", changed: true });
  expect([...desk.saving.getState().files.keys()]).toEqual(["main.py", "new.py"]);
});
