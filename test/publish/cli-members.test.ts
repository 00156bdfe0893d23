import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { AccountId } from "../../domain/ids.ts";
import { aMember, anAccount, type TestMember } from "../support/builders.ts";
import { aCliService, type CliResult, type CliService } from "./cli-service.ts";

let service: CliService;
let accountId: AccountId;
let owner: TestMember;
let viewer: TestMember;

beforeAll(async () => {
  service = await aCliService();
  accountId = await anAccount(service.db, { name: "house" });
  owner = await aMember(service.db, accountId);
  viewer = await aMember(service.db, accountId, "viewer");
});

afterAll(() => service?.close());

const as = (who: { token: string }, ...argv: string[]) => service.cliAs(who, ...argv);

test("members, listed by the operator for an account and by its own people, are the same", async () => {
  const byOperator = await service.cli("members", "list", "--account", "house", "--json");
  const byViewer = await as(viewer, "members", "list", "--json");
  expect([byOperator.code, byViewer.code]).toEqual([0, 0]);
  const roles = (result: CliResult) =>
    (result.json()["members"] as { email: string; role: string }[]).map(({ email, role }) => [email, role]);
  expect(roles(byOperator)).toEqual([
    [owner.email, "owner"],
    [viewer.email, "viewer"],
  ]);
  expect(roles(byViewer)).toEqual(roles(byOperator));
  expect((await service.cli("members", "list", "--account", "house")).out).toMatch(
    new RegExp(`^Email +Role +User +Joined +Last seen\n${owner.email} +owner `),
  );
});

test("members set-role and remove, by email address, do it, and say who is not there", async () => {
  const guest = await aMember(service.db, accountId, "viewer");
  const given = await as(owner, "members", "set-role", guest.email.toUpperCase(), "member");
  expect([given.code, given.out]).toEqual([0, `${guest.email} is member now\n`]);
  expect((await as(guest, "members", "list", "--json")).json()["members"]).toContainEqual(
    expect.objectContaining({ userId: guest.userId, role: "member" }),
  );
  const gone = await as(owner, "members", "remove", guest.userId, "--json");
  expect([gone.code, gone.json()]).toEqual([0, { userId: guest.userId, removed: true }]);
  expect((await as(guest, "members", "list", "--json")).json()).toMatchObject({ error: "Unauthorized" });
  const again = await as(owner, "members", "remove", guest.email, "--json");
  expect([again.code, again.json()]).toMatchObject([1, { error: "Not found" }]);
});

test("members set-role, of the last owner or by somebody who may not, is refused", async () => {
  const last = await as(owner, "members", "set-role", owner.email, "viewer", "--json");
  expect([last.code, last.json()]).toMatchObject([1, { error: "Conflict" }]);
  const mere = await as(viewer, "members", "set-role", viewer.email, "owner", "--json");
  expect([mere.code, mere.json()]).toMatchObject([1, { error: "Forbidden" }]);
  expect((await as(owner, "members", "set-role", viewer.email, "king")).code).toBe(2);
});

test("invitations create, list and revoke, by the operator, make a link and take it back", async () => {
  const ofHouse = ["--account", "house"];
  const made = await service.cli(
    "invitations",
    "create",
    "guest@example.test",
    "--role",
    "viewer",
    ...ofHouse,
    "--json",
  );
  const { url, ...invitation } = made.json();
  expect([made.code, url, invitation]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^${service.url}/join#tri_[\\w-]{43}$`)),
    {
      invitationId: expect.stringMatching(/^inv_/),
      email: "guest@example.test",
      role: "viewer",
      expiresAt: expect.any(String),
    },
  ]);
  const id = String(invitation["invitationId"]);
  const listed = await as(viewer, "invitations", "list", "--json");
  expect(listed.json()).toEqual({
    invitations: [{ ...invitation, createdAt: expect.any(String), invitedBy: "operator" }],
  });
  expect((await as(owner, "invitations", "revoke", id)).out).toBe(`Nobody can join by ${id} any more\n`);
  expect((await service.cli("invitations", "list", ...ofHouse, "--json")).json()).toEqual({ invitations: [] });
  expect((await as(owner, "invitations", "revoke", id)).code).toBe(1);
  const plain = await as(owner, "invitations", "create", "guest@example.test");
  expect(plain.out).toMatch(/^https:.*#tri_[\w-]{43}\nGood once, until .* for guest@example.test\.\n$/);
});

test("tokens create, list and revoke, by somebody's token, are about their own", async () => {
  const made = await as(viewer, "tokens", "create", "laptop", "--days", "30", "--json");
  expect([made.code, made.json()]).toMatchObject([0, { name: "laptop", expiresAt: expect.any(String) }]);
  const { token, tokenId } = made.json() as { token: string; tokenId: string };
  const listed = (await as({ token }, "tokens", "list", "--json")).json()["tokens"] as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(["laptop", "test"]);
  expect((await as(owner, "tokens", "list", "--json")).json()["tokens"]).toHaveLength(1);
  expect((await as(owner, "tokens", "revoke", tokenId, "--json")).json()).toMatchObject({ error: "Not found" });
  expect((await as(viewer, "tokens", "revoke", tokenId)).code).toBe(0);
  expect((await as({ token }, "tokens", "list", "--json")).json()).toMatchObject({ error: "Unauthorized" });
});

test("tokens create, for people, puts the token alone on standard output", async () => {
  const made = await as(viewer, "tokens", "create", "ci", "--forever");
  expect([made.out, made.err]).toEqual([expect.stringMatching(/^trp_[\w-]{43}\n$/), "Good until it is revoked.\n"]);
});

test("tokens, of the operator, are refused with words that say whose to use", async () => {
  const refused = await service.cli("tokens", "list", "--json");
  expect([refused.code, refused.json()]).toMatchObject([1, { error: "Forbidden" }]);
  expect(String(refused.json()["message"])).toContain("use a member's token");
});

test.each([["0"], ["366"], ["x"]])("tokens create, for %s days, is wrong usage", async (days) => {
  expect((await as(viewer, "tokens", "create", "n", "--days", days)).code).toBe(2);
});

test.each([
  ["workflows", "create", "mine"],
  ["credits", "grant", "5"],
  ["accounts", "create", "mine"],
])("%s %s, by a viewer's token, is refused", async (...argv) => {
  const refused = await as(viewer, ...argv, "--json");
  expect([refused.code, refused.json()]).toMatchObject([1, { error: "Forbidden" }]);
});
