import { expect, test } from "@jest/globals";
import { createBatches } from "../../../db/ledger/batches.ts";

/** Batches whose statements end when the test says so, each answering its items in capitals. */
function aBatcher(given: { batchMax?: number; isOfOneItem?: (error: unknown) => boolean } = {}) {
  const sent: { items: readonly string[]; end: (error?: Error) => void }[] = [];
  const ask = createBatches<string, string>({
    send: (items) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void =>
          error === undefined ? resolve(items.map((item) => item.toUpperCase())) : reject(error);
        sent.push({ items, end });
      }),
    batchMax: given.batchMax ?? 100,
    isOfOneItem: given.isOfOneItem ?? (() => false),
  });
  return { ask, sent, turn: () => new Promise<void>((resolve) => setImmediate(resolve)) };
}

test("a lone call, on an idle lane, is sent before the process does anything else", async () => {
  const order: string[] = [];
  const ask = createBatches<string, string>({
    send: async (items) => (order.push("sent"), items),
    batchMax: 10,
    isOfOneItem: () => false,
  });
  setImmediate(() => order.push("next turn"));
  await ask("a", "x");
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(["sent", "next turn"]);
});

test("calls, while a statement is under way, go together in the next one, each with its own answer", async () => {
  const { ask, sent, turn } = aBatcher();
  const first = ask("a", "x");
  await turn();
  const others = ["y", "z", "y"].map((item) => ask("a", item));
  await turn();
  expect(sent.map((batch) => batch.items)).toEqual([["x"]]);
  sent[0]?.end();
  expect(await first).toBe("X");
  await turn();
  expect(sent.map((batch) => batch.items)).toEqual([["x"], ["y", "z", "y"]]);
  sent[1]?.end();
  expect(await Promise.all(others)).toEqual(["Y", "Z", "Y"]);
});

test("callers that ask again with their answer, all at once, are not split from one another", async () => {
  const { ask, sent, turn } = aBatcher();
  const caller = async (name: string): Promise<void> => {
    await ask("a", `${name}1`);
    await ask("a", `${name}2`);
  };
  const callers = Promise.all(["a", "b", "c"].map(caller));
  await turn();
  sent[0]?.end();
  await turn();
  sent[1]?.end();
  await callers;
  expect(sent.map((batch) => batch.items)).toEqual([
    ["a1", "b1", "c1"],
    ["a2", "b2", "c2"],
  ]);
});

test("lanes, while one of them waits for its statement, do not wait for each other", async () => {
  const { ask, sent, turn } = aBatcher();
  void ask("a", "x");
  const other = ask("b", "y");
  await turn();
  sent[1]?.end();
  expect(await other).toBe("Y");
});

test("a batch, with more callers than it may have, takes the first, and the next takes the others in their order", async () => {
  const { ask, sent, turn } = aBatcher({ batchMax: 3 });
  const answers = Promise.all(["a", "b", "c", "d", "e", "f", "g"].map((item) => ask("a", item)));
  for (let batch = 0; batch < 3; batch++) {
    await turn();
    sent[batch]?.end();
  }
  expect((await answers).join("")).toBe("ABCDEFG");
  expect(sent.map((batch) => batch.items.join(""))).toEqual(["abc", "def", "g"]);
});

test("an error of a batch, when nobody in particular is to blame, reaches all its callers, and the lane goes on", async () => {
  const { ask, sent, turn } = aBatcher();
  const calls = ["x", "y"].map((item) => ask("a", item).catch((error: Error) => error.message));
  await turn();
  sent[0]?.end(new Error("connection lost"));
  expect(await Promise.all(calls)).toEqual(["connection lost", "connection lost"]);
  const later = ask("a", "z");
  await turn();
  sent[1]?.end();
  expect(await later).toBe("Z");
});

test("an error of a batch, when one item may be to blame, is heard only by the caller of that one", async () => {
  const ask = createBatches<string, string>({
    send: async (items) => {
      if (items.includes("bad")) throw new Error("bad item");
      return items;
    },
    batchMax: 10,
    isOfOneItem: (error) => (error as Error).message === "bad item",
  });
  const calls = ["x", "bad", "y"].map((item) => ask("a", item).catch((error: Error) => error.message));
  expect(await Promise.all(calls)).toEqual(["x", "bad item", "y"]);
});

test("an aborted call, while it waits, is rejected at once with the reason and not sent", async () => {
  const { ask, sent, turn } = aBatcher();
  const first = ask("a", "x");
  await turn();
  const controller = new AbortController();
  const aborted = ask("a", "y", controller.signal);
  const other = ask("a", "z");
  controller.abort(new Error("gave up"));
  await expect(aborted).rejects.toThrow("gave up");
  sent[0]?.end();
  await first;
  await turn();
  expect(sent[1]?.items).toEqual(["z"]);
  sent[1]?.end();
  expect(await other).toBe("Z");
});

test("an aborted call, when its statement is under way, is rejected at once, and the others get their answers", async () => {
  const { ask, sent, turn } = aBatcher();
  const aborted = ask("a", "x", AbortSignal.timeout(5));
  const other = ask("a", "y");
  await turn();
  await expect(aborted).rejects.toThrow("timeout");
  sent[0]?.end();
  expect(await other).toBe("Y");
});

test("a call, with a signal that is aborted already, is rejected and nothing is sent", async () => {
  const { ask, sent, turn } = aBatcher();
  await expect(ask("a", "x", AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  await turn();
  expect(sent).toEqual([]);
});
