import { request as httpsRequest } from "node:https";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client } from "@temporalio/client";
import { insertOperatorToken } from "../../db/accounts/access.ts";
import { createAccessToken, hashToken } from "../../src/keys/tokens.ts";
import { anExecution, aWorkflow } from "../support/builders.ts";
import { aTemporal, type TestTemporal } from "../support/temporal.ts";
import { until } from "../support/until.ts";
import { aHouse, ask, type House } from "./editor/people.ts";
import { aService, type TestService } from "./service.ts";

let temporal: TestTemporal;
let service: TestService;
let first: House;
let second: House;
let executionId: string;

/** As browsers ask for a page. */
const PAGE = { accept: "text/html,application/xhtml+xml" };
const CLUSTER = "/temporal/api/v1/cluster-info";
const LIST = "/temporal/api/v1/namespaces/treadle/workflows";

beforeAll(async () => {
  temporal = await aTemporal();
  service = await aService({ temporalPages: temporal.pages, temporalNamespace: temporal.namespace });
  first = await aHouse(service);
  second = await aHouse(service);
  const workflow = await aWorkflow(service.db, { accountId: second.accountId });
  executionId = await anExecution(service.db, { workflow });
  const { workflow: driver } = new Client({ connection: temporal.connection, namespace: temporal.namespace });
  await driver.start("nobody", { workflowId: executionId, taskQueue: "nowhere" });
  // Its web interface looked for its server before that listened, perhaps, and looks again a second later.
  await until(async () => (await ask(service, CLUSTER, {}, first.owner)).status === 200);
}, 600_000);

afterAll(async () => {
  await service?.close();
  await temporal?.stop();
});

test("Temporal's pages, to nobody, are the sign-in for a browser and 401 for a program; to members and viewers they are 403", async () => {
  const sent = await ask(service, "/temporal/namespaces/treadle/workflows?a=1", { headers: PAGE });
  expect([sent.status, sent.headers.location]).toEqual([
    303,
    "/sign-in?from=%2Ftemporal%2Fnamespaces%2Ftreadle%2Fworkflows%3Fa%3D1",
  ]);
  for (const path of ["/temporal/", "/temporal", LIST, "/temporal/_app/version.json"])
    expect((await ask(service, path)).status).toBe(401);
  for (const who of [first.member, first.viewer]) {
    const answer = await ask(service, "/temporal/", { headers: PAGE }, who);
    expect([answer.status, answer.json().message]).toEqual([403, expect.stringContaining("Only owners")]);
  }
});

test("Temporal's pages, to an owner, come whole, under a policy that lets them reach nothing of ours", async () => {
  const page = await ask(service, "/temporal/", { headers: PAGE }, first.owner);
  expect([page.status, page.headers["content-type"]]).toEqual([200, expect.stringContaining("text/html")]);
  const policy = String(page.headers["content-security-policy"]);
  const base = `https://${new URL(service.url).host}/temporal/`;
  expect(policy).toContain(`connect-src ${base};`);
  expect(policy).toMatch(/script-src \S+\/temporal\/_app\/ 'sha256-[^']+';/);
  expect(policy).not.toMatch(/script-src[^;]*('self'|unsafe)/);
  expect(page.headers["cross-origin-opener-policy"]).toBe("same-origin-allow-popups");
  expect(page.headers["set-cookie"]).toBeUndefined();
  const scripts = [...page.text().matchAll(/"(\/temporal\/_app\/[^"]+\.js)"/g)].map(([, path = ""]) => path);
  expect(scripts.length).toBeGreaterThan(5);
  const script = await ask(service, scripts[0] ?? "", {}, first.owner);
  expect([script.status, script.headers["content-type"]]).toEqual([200, expect.stringContaining("javascript")]);
  expect(script.headers["cache-control"]).toContain("immutable");
  expect((await ask(service, CLUSTER, {}, first.owner)).json()).toHaveProperty("serverVersion");
  expect((await ask(service, "/temporal/api/v1/settings", {}, first.owner)).json().DisableWriteActions).toBe(true);
});

test("Temporal's pages show the first account's owners everything, other owners their own executions alone", async () => {
  const own = `${LIST}/${executionId}`;
  expect((await ask(service, LIST, {}, first.owner)).text()).toContain(executionId);
  for (const who of [first.owner, second.owner]) expect((await ask(service, own, {}, who)).status).toBe(200);
  expect((await ask(service, `${own}/history`, {}, second.owner)).text()).toContain("WORKFLOW_EXECUTION_STARTED");
  expect((await ask(service, `/temporal/namespaces/treadle/workflows/${executionId}`, {}, second.owner)).status).toBe(
    200,
  );
  const only = (id: string, more = ""): string =>
    `${LIST}?query=${encodeURIComponent(`WorkflowId="${id}"${more}`)}&pageSize=1`;
  const one = await ask(service, only(executionId), {}, second.owner);
  expect([one.status, one.text()]).toEqual([200, expect.stringContaining(executionId)]);
  const others = ["?execution.workflowId=x", "?execution.workflow_id=x", "?namespace=default"].map(
    (more) => own + more,
  );
  const widened = [
    only(executionId, ' or WorkflowId != ""'),
    `${only(executionId)}&query=x`,
    `${only(executionId)}&a=1`,
  ];
  for (const path of [...others, ...widened])
    expect([path, (await ask(service, path, {}, second.owner)).status]).toEqual([path, 404]);
  const third = await aHouse(service);
  for (const path of [LIST, `${LIST}?query=x`, only(executionId), "/temporal/api/v1/namespaces/treadle/schedules"])
    expect((await ask(service, path, {}, third.owner)).status).toBe(404);
  expect((await ask(service, own, {}, third.owner)).status).toBe(404);
});

test("Temporal's pages change nothing for an owner, whatever they send; the operator's token may", async () => {
  const path = `${LIST}/${executionId}/signal/x`;
  for (const method of ["POST", "PUT", "DELETE", "PATCH"])
    expect((await ask(service, path, { method, json: {} }, first.owner)).status).toBe(405);
  const headers = { authorization: `Bearer ${first.owner.token}` };
  expect((await ask(service, path, { method: "POST", json: {}, headers })).status).toBe(405);
  const token = createAccessToken();
  await insertOperatorToken(service.db, { tokenHash: hashToken(token), name: "test" });
  const operator = { authorization: `Bearer ${token}` };
  expect((await ask(service, path, { json: {}, headers: operator })).status).toBe(200);
});

test.each([
  ["a way out", "/temporal/../api/session"],
  ["an encoded way out", "/temporal/%2e%2e/api/session"],
  ["an encoded separator", `/temporal/api/v1/namespaces/treadle/workflows/x%2f..%2fy`],
  ["a backslash", "/temporal/..\\x"],
  ["a NUL", "/temporal/%00"],
  ["two separators", "/temporal//evil.example/"],
  ["a percent sign twice", "/temporal/%252e%252e/"],
  ["half a percent sign", "/temporal/%4"],
])("an address below /temporal/ with %s is not passed on", async (_what, path) => {
  expect(await askForBytes(path)).toBe(404);
});

/** The status of an address that is sent to the byte as it is. */
function askForBytes(path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(service.url);
  const headers = { cookie: first.owner.cookie };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ hostname, port, path, headers, ca: service.cert, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject);
    sent.end();
  });
}

test("links to Temporal's pages are at the service's own address, for those who may open them", async () => {
  const url = async (who: { cookie: string }) =>
    (await ask(service, `/api/executions/${executionId}`, {}, who)).json().temporalUrl;
  const link = `${service.url}/temporal/namespaces/treadle/workflows/${executionId}`;
  expect([await url(second.owner), await url(second.viewer)]).toEqual([link, null]);
  expect((await ask(service, link, { headers: PAGE }, second.owner)).status).toBe(200);
  const session = async (who: { cookie: string }) => (await ask(service, "/api/session", {}, who)).json().temporalUiUrl;
  expect([await session(first.owner), await session(first.member)]).toEqual([`${service.url}/temporal`, null]);
});
