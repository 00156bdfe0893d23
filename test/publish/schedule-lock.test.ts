import { beforeAll, expect, test } from "@jest/globals";
import { deleteWorkflow } from "../../db/commits/workflows.ts";
import { queryRows } from "../../db/connect.ts";
import { lockScheduleAt, type StoredSchedule } from "../../db/schedules/schedules.ts";
import { insertTicks } from "../../db/schedules/ticks.ts";
import type { AccountId, WorkflowId } from "../../domain/ids.ts";
import { createPublisher, type Publish } from "../../src/publish/publish.ts";
import { fakeEnvironments, SILENT } from "../http/editor/parts.ts";
import { anAccount, TEST_SECRET_BOX } from "../support/builders.ts";
import { aFileDatabase } from "../support/file-database.ts";
import { waitForLockWait } from "../support/lock-waits.ts";
import { A_PYTHON, onlyInterpreter } from "../support/python.ts";
import { TEST_THREADS } from "../support/threads.ts";

const { db } = await aFileDatabase();
let accountId: AccountId;
let publish: Publish;

beforeAll(async () => {
  accountId = await anAccount(db, { credits: "100" });
  publish = createPublisher({
    db,
    secretBox: TEST_SECRET_BOX,
    environments: fakeEnvironments(),
    log: SILENT,
    interpreters: onlyInterpreter(A_PYTHON),
    networkAvailable: () => false,
    threads: TEST_THREADS,
    findPythonWarnings: async () => [],
  });
});

async function publishSchedule(workflowId: WorkflowId | null, schedule: string) {
  const config = `triggers:\n  api: { enabled: true }\n  schedule: ${schedule}\n`;
  const files = { "config.yaml": config, "main.py": "def main():\n    return None\n" };
  const published = await publish({
    workflowId,
    accountId,
    name: "clock",
    message: "",
    files: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false })),
  });
  if (published.kind !== "published") throw new Error(JSON.stringify(published));
  return published;
}

/** The declarations of a workflow in their order. */
const listDeclared = (workflowId: WorkflowId) =>
  queryRows<Pick<StoredSchedule, "enabled" | "until">>(
    db,
    `select enabled, until from schedules where workflow_id = :workflowId order by id`,
    { workflowId },
  );

const ENDINGS: readonly [string, (workflowId: WorkflowId) => Promise<unknown>, readonly boolean[]][] = [
  ["publish", (id) => publishSchedule(id, `{ enabled: false, cron: "* * * * *" }`), [true, false]],
  ["deleteWorkflow", (id) => deleteWorkflow(db, id, () => new Date()), [true]],
];

test.each(ENDINGS)(
  "%s, while a tick is being decided, waits for it, holds up nothing that it needs, and counts from then on",
  async (_, end, declared) => {
    const { workflowId } = await publishSchedule(null, `{ enabled: true, cron: "* * * * *" }`);
    const nominalAt = new Date((Math.floor(Date.now() / 60_000) + 60) * 60_000);
    let ending: Promise<unknown> | undefined;
    const decidedAt = await db.transaction(async (tx) => {
      expect(await lockScheduleAt(tx, { workflowId }, nominalAt)).toBeDefined();
      ending = end(workflowId);
      await waitForLockWait(db);
      const at = new Date();
      const tick = { workflowId, nominalAt, outcome: "no_commit", reason: "", source: "clock" } as const;
      await insertTicks(tx, [{ ...tick, executionId: null, decidedAt: at }]);
      return at;
    });
    await ending;
    const rows = await listDeclared(workflowId);
    expect(rows.map(({ enabled }) => enabled)).toEqual(declared);
    expect(rows[0]?.until?.getTime()).toBeGreaterThanOrEqual(decidedAt.getTime());
  },
);

test("lockScheduleAt, waiting for a commit that declares anew, answers what is declared then", async () => {
  const { workflowId } = await publishSchedule(null, `{ enabled: true, cron: "* * * * *" }`);
  const later = new Date(Date.now() + 3_600_000);
  let locking: Promise<StoredSchedule | undefined> | undefined;
  await db.transaction(async (tx) => {
    await queryRows(
      tx,
      `with ended as (update schedules set until = now() where workflow_id = :workflowId returning *)
       insert into schedules (workflow_id, enabled, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds, since,
                              accounted_until)
       select workflow_id, false, cron, timezone, overlap, catchup, max_lateness_seconds, jitter_seconds, now(), now() from ended`,
      { workflowId },
    );
    locking = db.transaction((other) => lockScheduleAt(other, { workflowId }, later));
    await waitForLockWait(db);
  });
  expect(await locking).toMatchObject({ enabled: false, until: null });
});

test("publish, that fails when it notes what Temporal is to be told, leaves neither commit nor schedule", async () => {
  const { workflowId, commitId } = await publishSchedule(null, `{ enabled: true, cron: "* * * * *" }`);
  const state = () =>
    queryRows(
      db,
      `select w.head, (select count(*)::int from commits c where c.workflow_id = w.id) as commits,
              (select array_agg(s.cron order by s.id) from schedules s where s.workflow_id = w.id) as crons,
              (select count(*)::int from schedule_changes n where n.workflow_id = w.id) as noted
         from workflows w where w.id = :workflowId`,
      { workflowId },
    );
  await queryRows(db, `delete from schedule_changes where workflow_id = :workflowId`, { workflowId });
  await db.raw(`
    create function refuse_note() returns trigger language plpgsql as $$ begin raise 'the disk is full'; end $$;
    create trigger schedule_changes_refused before insert on schedule_changes execute function refuse_note()`);
  try {
    await expect(publishSchedule(workflowId, `{ enabled: true, cron: "5 5 * * *" }`)).rejects.toThrow("disk is full");
    expect(await state()).toEqual([{ head: commitId, commits: 1, crons: ["* * * * *"], noted: 0 }]);
  } finally {
    await db.raw("drop trigger schedule_changes_refused on schedule_changes");
  }
  const again = await publishSchedule(workflowId, `{ enabled: true, cron: "5 5 * * *" }`);
  expect(await state()).toEqual([{ head: again.commitId, commits: 2, crons: ["* * * * *", "5 5 * * *"], noted: 1 }]);
});
