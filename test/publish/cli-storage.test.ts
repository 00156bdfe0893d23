import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { queryRows } from "../../db/connect.ts";
import { aMember, anAccount } from "../support/builders.ts";
import { aCliService, type CliService } from "./cli-service.ts";

let service: CliService;

beforeAll(async () => {
  service = await aCliService();
});

afterAll(() => service?.close());

test("storage, shown, agreed and taken back, is that of the account named", async () => {
  const accountId = await anAccount(service.db, { name: "keeps much" });
  await queryRows(service.db, "insert into kept_changes (account_id, bytes) values (:accountId, 1500000000)", {
    accountId,
  });
  const account = ["--account", "keeps much"];
  const document = { accountId, name: "keeps much", bytes: 1_500_000_000, bytesMax: null, agreedMax: null };
  expect((await service.cli("storage", "show", ...account, "--json")).json()).toEqual(document);
  const set = await service.cli("storage", "set", "200GB", ...account);
  expect([set.code, set.out]).toEqual([0, "keeps much: 1.5 GB kept, 200 GB allowed, as agreed\n"]);
  expect((await service.cli("storage", "show", ...account, "--json")).json()).toEqual({
    ...document,
    ...{ bytesMax: 200_000_000_000, agreedMax: 200_000_000_000 },
  });
  expect((await service.cli("storage", "set", "0", ...account)).out).toBe(
    "keeps much: 1.5 GB kept, no bound, as agreed\n",
  );
  expect((await service.cli("storage", "reset", ...account, "--json")).json()).toEqual(document);
});

test("publish, into an account that keeps as much as it may, is refused with what to do, and stores nothing; a dry run is not", async () => {
  const accountId = await anAccount(service.db, { name: "full" });
  // Commits may take a tenth more than the account may keep.
  await queryRows(service.db, "insert into kept_changes (account_id, bytes) values (:accountId, 1100)", { accountId });
  expect((await service.cli("storage", "set", "1kB", "--account", "full")).code).toBe(0);
  const folder = service.folder({ "config.yaml": "name: Greeter\n", "main.py": "def main():\n    return 1\n" });
  expect((await service.cli("publish", folder, "--account", "full", "--dry-run")).code).toBe(0);
  const refused = await service.cli("publish", folder, "--account", "full", "--json");
  expect([refused.code, refused.json()]).toMatchObject([
    1,
    {
      ...{ error: "Storage full", kept: 1_100, allowed: 1_100 },
      message:
        "The account keeps 1.1 kB of files, logs, commits and drafts, and may keep 1.1 kB. Nothing was started or committed. Wait until old files are removed, or ask the operator for more.",
    },
  ]);
  expect(await queryRows(service.db, "select 1 from workflows where account_id = :accountId", { accountId })).toEqual(
    [],
  );
});

test("storage, set to no size, is wrong usage; set by an owner, is refused", async () => {
  expect((await service.cli("storage", "set", "much")).code).toBe(2);
  const owner = await aMember(service.db, await anAccount(service.db, { name: "another" }));
  const refused = await service.cliAs(owner, "storage", "set", "1GB", "--json");
  expect([refused.code, refused.json()["error"]]).toEqual([1, "Forbidden"]);
  expect((await service.cliAs(owner, "storage", "show", "--json")).json()).toMatchObject({ name: "another", bytes: 0 });
});
