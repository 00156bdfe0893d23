import { expect, test } from "@jest/globals";
import { aMember, aWorkflow } from "../../support/builders.ts";
import { aFileService } from "../service.ts";
import { aHouse, ask, byNumber, cookieOf } from "./people.ts";

const service = await aFileService();

const MEMBERS = "/api/members";

test("members, to whoever may look, show who belongs to the account and when they were seen last", async () => {
  const { owner, member, viewer } = await aHouse(service);
  const answer = await ask(service, MEMBERS, {}, viewer);
  expect(answer.status).toBe(200);
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  const times = { createdAt: time, lastSeenAt: null };
  expect(answer.json()).toEqual({
    members: [
      { userId: owner.userId, email: owner.email, role: "owner", ...times },
      { userId: member.userId, email: member.email, role: "member", ...times },
      { userId: viewer.userId, email: viewer.email, role: "viewer", createdAt: time, lastSeenAt: time },
    ],
    invitations: [],
  });
});

test("a role, given by an owner, counts from the next call on and ends the sessions that meant another", async () => {
  const { accountId, owner, viewer } = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId });
  const bearer = { "x-api-key": undefined, authorization: `Bearer ${viewer.token}` } as unknown as Record<
    string,
    string
  >;
  delete bearer["x-api-key"];
  const start = () =>
    service.call(`/api/workflows/${workflow.workflowId}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${viewer.token}` },
      body: "{}",
    });
  expect((await start()).status).toBe(403);
  const given = await ask(service, `${MEMBERS}/${viewer.userId}`, { method: "PATCH", json: { role: "member" } }, owner);
  expect([given.status, given.json()]).toMatchObject([200, { userId: viewer.userId, role: "member" }]);
  expect(cookieOf(given)).toBeUndefined();
  expect((await ask(service, MEMBERS, {}, viewer)).status).toBe(401);
  expect((await start()).status).toBe(200);
});

test("a role, given again as it is, ends no session", async () => {
  const { owner, viewer } = await aHouse(service);
  const given = await ask(service, `${MEMBERS}/${viewer.userId}`, { method: "PATCH", json: { role: "viewer" } }, owner);
  expect(given.status).toBe(200);
  expect((await ask(service, MEMBERS, {}, viewer)).status).toBe(200);
});

test("an owner, stepping down while another stays, goes on in this browser under a new token and in no other", async () => {
  const { accountId, owner } = await aHouse(service);
  await aMember(service.db, accountId);
  const answer = await ask(service, `${MEMBERS}/${owner.userId}`, { method: "PATCH", json: { role: "member" } }, owner);
  expect([answer.status, answer.json()]).toMatchObject([200, { role: "member" }]);
  const cookie = cookieOf(answer) as string;
  expect(cookie).not.toBe(owner.cookie);
  expect((await ask(service, "/api/session", {}, { cookie })).json()).toMatchObject({ role: "member" });
  expect((await ask(service, "/api/session", {}, owner)).status).toBe(401);
});

test("the last owner, stepping down or leaving, is refused with 409 and stays", async () => {
  const { owner, member } = await aHouse(service);
  const message = "The last owner of an account can neither leave nor step down. Make another member an owner first.";
  for (const call of [{ method: "PATCH", json: { role: "viewer" } }, { method: "DELETE" }]) {
    const answer = await ask(service, `${MEMBERS}/${owner.userId}`, call, owner);
    expect([answer.status, answer.json()]).toEqual([409, { error: "Conflict", message }]);
    expect(cookieOf(answer)).toBeUndefined();
  }
  expect((await ask(service, MEMBERS, {}, member)).json()).toMatchObject({ members: [{ role: "owner" }, {}, {}] });
});

test("two owners, demoting each other at once over HTTPS, leave one owner", async () => {
  for (let round = 0; round < 5; round += 1) {
    const { accountId, owner: ada, member } = await aHouse(service);
    const bob = await aMember(service.db, accountId);
    const demote = (by: { cookie: string }, whom: { userId: string }) =>
      ask(service, `${MEMBERS}/${whom.userId}`, { method: "PATCH", json: { role: "member" } }, by);
    const answers = await Promise.all([demote(ada, bob), demote(bob, ada)]);
    const statuses = answers.map(({ status }) => status).sort(byNumber);
    // The slower one is an owner no more, or not signed in any more.
    expect([
      [200, 401],
      [200, 403],
    ]).toContainEqual(statuses);
    const { members } = (await ask(service, MEMBERS, {}, member)).json() as { members: { role: string }[] };
    expect(members.map(({ role }) => role).sort()).toEqual(["member", "member", "owner", "viewer"]);
  }
});

test("a removed member, by session and by token, is out with the next call", async () => {
  const { owner, member } = await aHouse(service);
  expect((await ask(service, MEMBERS, {}, member)).status).toBe(200);
  const answer = await ask(service, `${MEMBERS}/${member.userId}`, { method: "DELETE" }, owner);
  expect([answer.status, answer.json()]).toEqual([200, { userId: member.userId, removed: true }]);
  const bearer = { authorization: `Bearer ${member.token}` };
  for (const path of [MEMBERS, "/api/account", "/api/tokens"]) {
    expect((await ask(service, path, {}, member)).status).toBe(401);
    expect((await ask(service, path, { headers: bearer })).status).toBe(401);
  }
  const again = await ask(service, `${MEMBERS}/${member.userId}`, { method: "DELETE" }, owner);
  expect([again.status, again.json()["error"]]).toEqual([404, "Not found"]);
});

test("a viewer, leaving, is out, and the browser forgets the session", async () => {
  const { owner, viewer } = await aHouse(service);
  const answer = await ask(service, `${MEMBERS}/${viewer.userId}`, { method: "DELETE" }, viewer);
  expect([answer.status, cookieOf(answer)]).toEqual([200, "__Host-session="]);
  expect((await ask(service, "/api/session", {}, viewer)).status).toBe(401);
  expect((await ask(service, MEMBERS, {}, owner)).json()["members"]).toHaveLength(2);
});

test.each([
  ["no role", {}, 400],
  ["a role that is none", { role: "king" }, 400],
  ["a list of roles", { role: ["owner"] }, 400],
  ["a field too many", { role: "owner", accountId: "acct_x" }, 400],
])("a change of a member, with %s, is refused and changes nothing", async (_what, json, status) => {
  const { owner, viewer } = await aHouse(service);
  const answer = await ask(service, `${MEMBERS}/${viewer.userId}`, { method: "PATCH", json }, owner);
  expect([answer.status, answer.json()]).toMatchObject([
    status,
    { error: "Invalid request", details: [{ input: expect.any(String), message: expect.any(String) }] },
  ]);
  expect((await ask(service, "/api/session", {}, viewer)).json()).toMatchObject({ role: "viewer" });
});

test("a change of a member, as text or much too long, is refused", async () => {
  const { owner, viewer } = await aHouse(service);
  const path = `${MEMBERS}/${viewer.userId}`;
  const text = await ask(
    service,
    path,
    { method: "PATCH", json: {}, headers: { "content-type": "text/plain" } },
    owner,
  );
  expect([text.status, text.json()["error"]]).toEqual([415, "Unsupported media type"]);
  const long = await ask(service, path, { method: "PATCH", json: { role: "x".repeat(20_000) } }, owner);
  expect([long.status, long.json()["error"]]).toEqual([413, "Payload too large"]);
});

test.each(["cross-site", "same-site"])(
  "a change of a member, sent by a browser from a page of another site (%s), is refused",
  async (site) => {
    const { owner, viewer } = await aHouse(service);
    const headers = { "sec-fetch-site": site };
    const answer = await ask(
      service,
      `${MEMBERS}/${viewer.userId}`,
      { method: "PATCH", json: { role: "owner" }, headers },
      owner,
    );
    expect([answer.status, answer.json()["message"]]).toEqual([403, expect.stringContaining("another website")]);
    // A password that a browser remembers for this address must not pass for a token that only a program can send.
    const basic = { ...headers, authorization: "Basic YTpi" };
    const again = await ask(
      service,
      `${MEMBERS}/${viewer.userId}`,
      { method: "PATCH", json: { role: "owner" }, headers: basic },
      owner,
    );
    expect([again.status, again.json()["message"]]).toEqual([403, expect.stringContaining("another website")]);
  },
);

test("members, of an account by its name, are for the operator and its own people", async () => {
  const { owner } = await aHouse(service);
  const { accountName } = (await ask(service, "/api/session", {}, owner)).json();
  const path = `${MEMBERS}?account=${encodeURIComponent(String(accountName))}`;
  expect((await ask(service, path, {}, owner)).json()["members"]).toHaveLength(3);
  const stranger = await aHouse(service);
  expect((await ask(service, path, {}, stranger.owner)).status).toBe(404);
});
