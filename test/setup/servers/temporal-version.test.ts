import { expect, test } from "@jest/globals";
import { checkBinary } from "../../../src/setup/servers/temporal-version.ts";
import { aRunner } from "./surroundings.ts";

const check = (stdout: string, code = 0) =>
  checkBinary("/opt/temporal", aRunner(() => ({ stdout: `${stdout}\n`, code })).run);

test("checkBinary, when the version is the least allowed or later, answers suitable with the version", async () => {
  expect(await check("temporal version 1.5.0 (Server 1.29.0, UI 2.42.1)")).toEqual({
    kind: "suitable",
    version: "1.5.0",
  });
  expect(await check("temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)")).toEqual({
    kind: "suitable",
    version: "1.8.2",
  });
  expect(await check("temporal version 2.0.0-rc.1 (Server 2.0.0)")).toEqual({
    kind: "suitable",
    version: "2.0.0-rc.1",
  });
});

test("checkBinary, when the tool or its server is older, says which version it is and which is needed", async () => {
  expect(await check("temporal version 1.4.1 (Server 1.29.0, UI 2.39.0)")).toEqual({
    kind: "unsuitable",
    problem: "it is version 1.4.1 with server 1.29; needed are 1.5 and 1.29 or later",
  });
  expect((await check("temporal version 1.9.0 (Server 1.28.9, UI 2)")).kind).toBe("unsuitable");
  expect((await check("temporal version 0.13.2 (server 1.31.0) (ui 2)")).kind).toBe("unsuitable");
});

test("checkBinary, when it is another program or fails, says what it said", async () => {
  expect(await check("temporal: a clock")).toMatchObject({
    kind: "unsuitable",
    problem: expect.stringContaining("temporal: a clock"),
  });
  expect((await check("temporal version 1.8.2 (Server 1.31.2, UI 2)", 1)).kind).toBe("unsuitable");
});
