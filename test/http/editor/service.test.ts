import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { aService, type TestService } from "../service.ts";
import { anEditor } from "./callers.ts";

const CERTIFICATE = { file: "/data/tls/ca.pem", pem: "-----BEGIN CERTIFICATE-----\n" };

let plain: TestService;
let ownCertificate: TestService;
beforeAll(async () => {
  [plain, ownCertificate] = await Promise.all([aService(), aService({ ownCertificate: CERTIFICATE })]);
});
afterAll(() => Promise.all([plain?.close(), ownCertificate?.close()]));

test("the service, with a certificate that systems know, says where it is called and names no authority", async () => {
  const answer = await (await anEditor(plain, { role: "viewer" })).get("service");
  expect([answer.status, answer.json()]).toEqual([
    200,
    { apiUrl: plain.apiUrl, version: expect.stringMatching(/^\d/), ca: null },
  ]);
});

test("the service, with a certificate of its own, says where its authority is and what it is", async () => {
  const answer = await (await anEditor(ownCertificate)).get("service");
  expect(answer.json()).toMatchObject({ ca: CERTIFICATE });
});
