// Written for Temporal CLI 1.8.2: its schema of SQLite, of which it has no option to leave out indexes.
/**
 * What Temporal's page, its lists of schedules and our searches ask by. `by_keyword_01` to `04` are our own attributes; the
 * order of the default list (`default_idx`) and the primary key stay, too.
 */
const KEPT = [
  "default_idx",
  "by_workflow_id",
  "by_workflow_type",
  "by_status",
  "by_temporal_namespace_division",
  "by_keyword_01",
  "by_keyword_02",
  "by_keyword_03",
  "by_keyword_04",
];

/** Node.js 20 has no SQLite; every Python has. The server may be running: it looks at its schema again by itself. */
const PROGRAM = `
import pathlib, sqlite3, sys
file, *kept = sys.argv[1:]
database = sqlite3.connect(pathlib.Path(file).as_uri() + "?mode=rw", uri=True, timeout=10, isolation_level=None)
names = "select name from sqlite_master where type = 'index' and tbl_name = 'executions_visibility' and sql is not null"
dropped = [name for (name,) in database.execute(names) if name not in kept]
if dropped:
    database.execute("begin immediate")
    for name in dropped:
        database.execute(f'drop index if exists "{name}"')
    database.execute("commit")
database.close()
print(len(dropped))
`;

/**
 * Drops the indexes of the embedded server's list of executions that no query uses. It has 58, one for each possible
 * attribute, and every execution and schedule is written to all of them two or three times. Safe to repeat. Only costs
 * time when it fails, so that is logged and nothing more.
 */
export async function dropUnusedIndexes(options: {
  readonly databaseFile: string;
  /** Runs Python with these arguments to its end. */
  readonly runPython: (
    args: readonly string[],
  ) => Promise<{ readonly code: number | undefined; readonly stdout: string; readonly tail: readonly string[] }>;
  readonly log: (line: string) => void;
}): Promise<void> {
  const { databaseFile, runPython, log } = options;
  const { code, stdout, tail } = await runPython(["-I", "-S", "-c", PROGRAM, databaseFile, ...KEPT]);
  log(
    code === 0
      ? `${stdout.trim()} unused indexes of Temporal's list of executions were dropped.`
      : `Temporal's unused indexes stay, and cost some time: ${tail.slice(-2).join(" | ")}`,
  );
}
