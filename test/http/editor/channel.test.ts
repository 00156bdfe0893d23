import { expect, test } from "@jest/globals";
import type { StateOfExecution } from "../../../db/executions/states.ts";
import { createChannel, type EditorEvent } from "../../../src/http/editor-events/channel.ts";
import { createAccountId, createExecutionId, createWorkflowId } from "../../../src/ids.ts";

const ids = { accountId: createAccountId(), workflowId: createWorkflowId() };

function aState(status: StateOfExecution["status"], executionId = createExecutionId()): StateOfExecution {
  return { ...ids, executionId, status };
}

/** A channel that has looked at the record once, and what its follower is told since. */
function aChannel(...states: readonly StateOfExecution[]) {
  const channel = createChannel();
  channel.learn(states, "all");
  const told: EditorEvent[] = [];
  const follower = { receive: (event: EditorEvent) => void told.push(event), end: () => undefined };
  channel.followers.add(follower);
  return { channel, told, words: () => told.map(({ name, data }) => data["status"] ?? name) };
}

/** What somebody is told who comes back with this id. */
function catchUp(channel: ReturnType<typeof createChannel>, lastId: string): EditorEvent[] {
  const told: EditorEvent[] = [];
  channel.catchUp({ receive: (event) => void told.push(event), end: () => undefined }, lastId);
  return told;
}

test("a channel, at its first look, tells nothing of what there was, and after that each change once", () => {
  const old = aState("running");
  const { channel, words } = aChannel(old, aState("success"));
  expect(words()).toEqual([]);
  // Nor is there anything for somebody who came before that look.
  expect(catchUp(channel, `${channel.lastId().split(".")[0]}.0`)).toEqual([]);
  const fresh = createExecutionId();
  channel.learn([aState("queued", fresh), old], "all");
  channel.learn([aState("queued", fresh), old], "all");
  channel.learn([aState("running", fresh), aState("failed", old.executionId)], "all");
  channel.learn([aState("success", fresh)], "some");
  expect(words()).toEqual(["queued", "running", "failed", "success"]);
});

test("a channel, when a look ends late that began before another, tells of nothing that is over", () => {
  const { channel, words } = aChannel(aState("queued"));
  const one = createExecutionId();
  channel.learn([aState("success", one)], "some");
  channel.learn([aState("running", one)], "some");
  // Nor was it forgotten how far it had come.
  channel.learn([aState("running", one)], "some");
  expect([words(), channel.openIds()]).toEqual([["success"], [expect.any(String)]]);
});

test("a channel, asked what is open, names those that have not ended when last heard of", () => {
  const [waiting, running, ended] = [aState("queued"), aState("running"), aState("cancelled")];
  const { channel } = aChannel(waiting, running, ended);
  expect(channel.openIds()).toEqual([waiting.executionId, running.executionId]);
  channel.learn([aState("out_of_memory", running.executionId)], "some");
  expect(channel.openIds()).toEqual([waiting.executionId]);
});

test("a channel, when a look shows nothing that it knew, says to ask again instead of telling each", () => {
  const { channel, words } = aChannel(aState("success"));
  channel.learn([aState("success"), aState("running")], "all");
  expect(words()).toEqual(["resync"]);
  channel.learn([aState("queued")], "some");
  expect(words()).toEqual(["resync", "queued"]);
});

test("a follower, who comes back, gets what came behind the event that they had, in order", () => {
  const { channel, told } = aChannel();
  const beginning = channel.lastId();
  for (const workflowId of ["one", "two", "three"]) channel.send("workflow", { workflowId });
  expect(catchUp(channel, beginning)).toEqual(told);
  expect(catchUp(channel, told[0]?.id ?? "")).toEqual(told.slice(1));
  expect(catchUp(channel, told[1]?.id ?? "")).toEqual(told.slice(2));
  expect(catchUp(channel, channel.lastId())).toEqual([]);
});

test("a follower, who comes back with an id of nobody's, of another channel or of the future, has to ask again", () => {
  const { channel } = aChannel();
  channel.send("workflow", { workflowId: "one" });
  const again = [{ id: channel.lastId(), name: "resync", data: {} }];
  const [name = ""] = channel.lastId().split(".");
  for (const id of ["unknown", `${createChannel().lastId().split(".")[0]}.0`, `${name}.2`, `${name}.x`, ""])
    expect([id, catchUp(channel, id)]).toEqual([id, again]);
});

test("a follower, who was away for more than 500 events, has to ask again, and for 500 has missed nothing", () => {
  const { channel } = aChannel();
  const beginning = channel.lastId();
  for (let count = 0; count < 500; count += 1) channel.send("workflow", { workflowId: String(count) });
  expect(catchUp(channel, beginning)).toHaveLength(500);
  channel.send("workflow", { workflowId: "one more" });
  expect(catchUp(channel, beginning).map(({ name }) => name)).toEqual(["resync"]);
  const [name = ""] = beginning.split(".");
  expect(catchUp(channel, `${name}.1`)).toHaveLength(500);
});

test("a channel, of more executions than it remembers, forgets those heard of longest ago", () => {
  const first = aState("running");
  const { channel } = aChannel(first);
  for (let count = 0; count < 2_000; count += 1) channel.learn([aState("running")], "some");
  expect(channel.openIds()).toHaveLength(2_000);
  expect(channel.openIds()).not.toContain(first.executionId);
});
