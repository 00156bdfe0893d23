import { beforeAll, expect, test } from "@jest/globals";
import { insertDestination } from "../../db/accounts/destinations.ts";
import { queryRows } from "../../db/connect.ts";
import type { AccountId } from "../../domain/ids.ts";
import { parseManifest } from "../../domain/manifest/parse.ts";
import { aMember, anAccount, aWorkflow, type TestMember } from "../support/builders.ts";
import type { Answer } from "../support/https.ts";
import { aFileService, execute } from "./service.ts";

let owner: TestMember;
let accountId: AccountId;

const service = await aFileService();

beforeAll(async () => {
  accountId = await anAccount(service.db, { name: "told" });
  owner = await aMember(service.db, accountId);
});

function call(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${owner.token}`, "content-type": "application/json" };
  return service.call(`/api${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const add = (name: string, kind: string, target: string): Promise<Answer> =>
  call("POST", "/places", { name, kind, target });

test("place, added, has its secret in that answer alone, and is kept sealed", async () => {
  const target = "https://hooks.example.com/services/T0/hush";
  const added = await add("ops", "webhook", target);
  expect(added.status).toBe(201);
  expect(added.json()).toMatchObject({ name: "ops", kind: "webhook", target: "https://hooks.example.com/…" });
  const secret = String(added.json()["secret"]);
  expect(Buffer.from(secret.replace("whsec_", ""), "base64")).toHaveLength(32);
  expect((await add("ops", "slack", target)).status).toBe(409);
  const listed = await call("GET", "/places");
  expect(listed.json()["places"]).toMatchObject([{ name: "ops", usedBy: [], disabledAt: null }]);
  expect(listed.text()).not.toMatch(/hush|whsec_/);
  const [row] = await queryRows<{ whole: string }>(
    service.db,
    "select cast(row_to_json(p) as text) as whole from notice_places p where p.name = 'ops'",
  );
  for (const trace of ["hush", secret.slice(6, 20)])
    for (const form of [trace, Buffer.from(trace).toString("hex")]) expect(row?.whole).not.toContain(form);
  const rotated = await call("POST", "/places/ops/secrets", { graceSeconds: 3_600 });
  expect(rotated.json()).toMatchObject({
    secret: expect.stringMatching(/^whsec_/),
    previousSecretUntil: expect.any(String),
  });
  expect(rotated.json()["secret"]).not.toBe(secret);
});

test("places, whose target cannot be told, are refused with why", async () => {
  for (const [kind, target, why] of [
    ["webhook", "http://hooks.example.com/", "must begin with https://"],
    ["webhook", "https://ada:pw@hooks.example.com/", "may not hold a user or a password"],
    ["slack", "https://10.0.0.1/hook", "has an address that is not public"],
    ["teams", "https://[::1]/hook", "has an address that is not public"],
    ["teams", "https://[::ffff:10.0.0.1]/hook", "has an address that is not public"],
    ["webhook", "https://2130706433/", undefined],
    ["webhook", "https://169.254.169.254/latest", "has an address that is not public"],
    ["webhook", "no address", "This is no URL"],
    ["email", "ada@example.com\r\nBcc: eve@example.com", "This is no e-mail address"],
    ["email", "ada@example.com,eve@example.com", "This is no e-mail address"],
    ["pager", "https://hooks.example.com/", "kind"],
  ] as const) {
    const refused = await add("other", kind, target);
    // A number that stands for an address is read as that address: here that of this machine, which the operator allows.
    if (why === undefined) expect([target, refused.status]).toEqual([target, 201]);
    else
      expect([target, refused.status, refused.json()["message"]]).toEqual([target, 400, expect.stringContaining(why)]);
  }
  expect((await add("no/name", "email", "ada@example.com")).status).toBe(400);
  expect((await call("PUT", "/places/nobody", { target: "https://hooks.example.com/" })).status).toBe(404);
  expect((await call("PUT", "/places/ops", { target: "https://192.168.0.1/" })).status).toBe(400);
  expect((await call("DELETE", "/places/other")).json()).toEqual({ name: "other", removed: true });
});

test("places, whose private address the account was granted, can be told, and not those of another account", async () => {
  const grant = (to: AccountId, host: string, ports: string) =>
    insertDestination(service.db, { accountId: to, name: `to-${host.replace(/\W/g, "-")}`, host, ports });
  const other = await anAccount(service.db, { name: "another with grants" });
  await grant(other, "10.99.0.7", "8443");
  await grant(accountId, "10.99.1.0/24", "8443");
  await grant(accountId, "warehouse", "80");
  await expect(grant(accountId, "169.254.0.0/16", "8443")).rejects.toThrow("address_can_be_granted");
  for (const [target, status] of [
    ["https://10.99.1.7:8443/", 201],
    ["http://10.99.1.7:8443/", 201],
    ["https://10.99.1.7/", 400],
    ["https://10.99.0.7:8443/", 400],
    ["http://warehouse/", 201],
    ["http://warehouse:81/", 400],
    ["http://ada@warehouse/", 400],
    ["ftp://warehouse:80/", 400],
    ["https://169.254.169.254:8443/", 400],
    ["https://[::ffff:10.99.1.7]:8443/", 400],
  ] as const) {
    expect([target, (await add("granted", "webhook", target)).status]).toEqual([target, status]);
    if (status === 201) await call("DELETE", "/places/granted");
  }
});

test("notices, in pages, are listed without a limit, too; what no page can be is refused", async () => {
  await add("paged", "email", "ada@example.com");
  const sent: unknown[] = [];
  for (let count = 0; count < 3; count += 1)
    sent.unshift((await call("POST", "/places/paged/test")).json()["noticeId"]);
  const list = async (query: string) => (await call("GET", `/notices?place=paged${query}`)).json();
  const idsOf = (page: Record<string, unknown>) =>
    (page["notices"] as { noticeId: string }[]).map(({ noticeId }) => noticeId);
  expect(idsOf(await list(""))).toEqual(sent);
  const first = await list("&limit=2");
  expect([...idsOf(first), ...idsOf(await list(`&limit=2&before=${String(first["next"])}`))]).toEqual(sent);
  for (const query of ["&limit=0", "&limit=201", "&before=nt_no", "&place=%00"])
    expect([query, (await call("GET", `/notices?${query}`)).status]).toEqual([query, 400]);
});

test("result of a call, to an address that it gives, is for hosts that the operator allows; nothing is started else", async () => {
  const workflow = await aWorkflow(service.db, { inputs: [] });
  const [url, secret] = ["https://hooks.example.com/hush", `whsec_${Buffer.alloc(24, 7).toString("base64")}`];
  for (const [headers, why] of [
    [{ "webhook-url": "https://other.example.com/" }, "Webhook-Url: other.example.com is not allowed."],
    [{ "webhook-url": "https://hooks.example.com.evil.test/" }, "hooks.example.com.evil.test is not allowed."],
    [{ "webhook-url": "https://hooks.example.com:1/" }, undefined],
    [{ "webhook-url": "http://hooks.example.com/" }, "it must begin with https://."],
    [{ "webhook-url": "https://ada@hooks.example.com/" }, "it may not hold a user or a password."],
    [{ "webhook-url": "no url" }, "Webhook-Url is no URL."],
    [{ "webhook-url": `${url}?${"a".repeat(2_000)}` }, "longer than 2000 characters"],
    [{ "webhook-secret": secret }, "Send both, or neither."],
    [{ "webhook-url": url, "webhook-secret": "whsec_c2hvcnQ=" }, "24 to 64 bytes in base64"],
  ] as const) {
    const before = service.started.length;
    const answer = await execute(service, workflow, {}, headers);
    expect([headers, answer.status, answer.json()["message"]]).toEqual([
      headers,
      why === undefined ? 200 : 400,
      why === undefined ? undefined : expect.stringContaining(why),
    ]);
    expect(service.started).toHaveLength(before + (why === undefined ? 1 : 0));
  }
  const inside = { "webhook-url": "https://10.99.0.9/done" }; // The operator allows the host, and not yet its address.
  expect((await execute(service, workflow, {}, inside)).json()["message"]).toContain("is not public");
  const grant = { accountId: workflow.accountId, name: "inside", host: "10.99.0.9", ports: "443" };
  await insertDestination(service.db, grant);
  expect((await execute(service, workflow, {}, inside)).status).toBe(200);
  const accepted = await execute(service, workflow, {}, { "webhook-url": url, "webhook-secret": secret });
  const [row] = await queryRows<{ whole: string }>(
    service.db,
    "select cast(row_to_json(r) as text) as whole from call_receivers r where r.execution_id = :id",
    { id: accepted.json()["executionId"] },
  );
  for (const trace of ["hush", secret.slice(6, 20), "\u0007\u0007\u0007"])
    for (const form of [trace, Buffer.from(trace).toString("hex")]) expect(row?.whole).not.toContain(form);
});

test("notify, of a manifest, names places that are there and durations that can be", () => {
  const places = new Set(["ops"]);
  const read = (text: string) =>
    parseManifest(text, { setNames: { secrets: new Set(), variables: new Set(), places } });
  const good = read("notify:\n  failure: [ops]\n  recovery:\n  slow: { after: 10m, to: [ops] }\n");
  expect(good).toMatchObject({
    ok: true,
    manifest: { notify: { failure: ["ops"], slow: { afterSeconds: 600, to: ["ops"] } } },
  });
  expect(read("notify: { failure: [] }\n")).toMatchObject({
    ok: true,
    manifest: expect.not.objectContaining({ notify: expect.anything() }),
  });
  const bad = read(
    "notify:\n  failure: [ops, opps]\n  missed: [ops, ops]\n  slow: { after: 2d, to: [ops] }\n  sucess: [ops]\n  recovery: [a b]\n",
  );
  expect(bad.ok ? [] : bad.problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
    '2:18 notify.failure.1: There is no place "opps" to tell. Did you mean "ops"? Add it first: treadle notify add opps',
    '3:17 notify.missed.1: "ops" is named twice. Remove one.',
    "4:18 notify.slow.after: must be a duration from 1s to 1d, such as 10m.",
    expect.stringContaining("5:3 notify.sucess:"),
    expect.stringContaining('6:14 notify.recovery.0: "a b" cannot be the name of a place'),
  ]);
});
