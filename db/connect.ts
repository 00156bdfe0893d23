import { createHash } from "node:crypto";
import knex, { type Knex } from "knex";
import pg from "pg";

/** A pool, or a transaction of one: what every function of this room takes first. */
export type Db = Knex;

export type DatabaseAddress =
  | { readonly connectionString: string }
  | { readonly host: string; readonly user: string; readonly database: string; readonly port?: number };

const SESSION_LIMITS = { statement_timeout: 30_000, lock_timeout: 10_000, idle_in_transaction_session_timeout: 30_000 };

const INT8 = 20;
const NUMERIC = 1700;
pg.types.setTypeParser(INT8, BigInt);
pg.types.setTypeParser(NUMERIC, Number);

/** An error rejects, and the caller logs it. The library would print it as well, and not as our lines. */
const QUIET = { debug: ignore, warn: ignore, error: ignore, deprecate: ignore };
function ignore(): void {}

export interface PoolOptions {
  readonly poolMax: number;
  readonly applicationName: string;
  /**
   * Whether the address is that of a pooler, which may take another session for each transaction. Then nothing is prepared, and
   * the pooler sets the limits of sessions: see `requireSessionLimits`.
   */
  readonly isPooled?: boolean;
}

/** Opens the pool of this process. Statements and locks are bounded in time; nothing waits for ever. */
export function connect(address: DatabaseAddress, { poolMax, applicationName, isPooled = false }: PoolOptions): Db {
  const limits = isPooled ? {} : SESSION_LIMITS;
  const config = {
    client: "pg",
    // What transactions inherit, as the library's type of this object does not say.
    userParams: { isPooled },
    connection: { ...address, application_name: applicationName, ...limits },
    // Looked at once a second otherwise, which wakes an idle process.
    pool: { min: 0, max: poolMax, reapIntervalMillis: 10_000 },
    acquireConnectionTimeout: 10_000,
    asyncStackTraces: false,
    log: QUIET,
    // Messages of failed statements end in logs; the values bound to them must not.
    compileSqlOnError: false,
  };
  return knex(config);
}

/** Rejects when sessions have other limits than `connect` gives them, with the statement that sets those. */
export async function requireSessionLimits(db: Db): Promise<void> {
  const names = Object.keys(SESSION_LIMITS);
  const found = await queryRows<{ name: string; setting: string }>(
    db,
    "select name, setting from pg_settings where name = any(cast(:names as text[]))",
    { names },
  );
  const isLimited = Object.entries(SESSION_LIMITS).every(([name, ms]) =>
    found.some((each) => each.name === name && Number(each.setting) === ms),
  );
  const statements = Object.entries(SESSION_LIMITS).map(([name, ms]) => `set ${name} = ${ms}`);
  if (!isLimited)
    throw new Error(`Sessions need limits. Let the pooler run at the start of each: ${statements.join("; ")}`);
}

/** The connections of a pool: how many do something, how many statements wait for one, how many there may be. */
export function readPool(db: Db): { readonly used: number; readonly waiting: number; readonly max: number } {
  const { pool } = db.client as { pool: { numUsed(): number; numPendingAcquires(): number; max: number } };
  return { used: pool.numUsed(), waiting: pool.numPendingAcquires(), max: pool.max };
}

/** One session outside the pool, for LISTEN. The caller ends it. */
export function createListener(address: DatabaseAddress, applicationName: string): pg.Client {
  return new pg.Client({ ...address, application_name: applicationName });
}

export const UNIQUE_VIOLATION = "23505";

/** The SQLSTATE of an error of the database; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : undefined;
}

/** True when the tables refused the data of a statement (classes 22 and 23): the same data is refused again. */
export function isDataError(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}

/** True when a statement was never sent, because no connection of the pool was free in time. */
export function isPoolExhausted(error: unknown): boolean {
  return (error as { name?: unknown } | null)?.name === "KnexTimeoutError";
}

/**
 * SQLSTATE of a server that is away, is full, or did not run the statement in time. These are connection exceptions
 * (08), insufficient resources (53), shutdown and crash recovery (57P01 to 57P05), and time-outs of statements, locks
 * and idle sessions. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const AWAY_STATE = /^(08...|53...|57P0.|57014|55P03|25P03)$/;
const AWAY_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ENOTFOUND",
]);
/** The two libraries give these no code: of a connection that ended under a statement, and of a pool that is closed. */
const AWAY_TEXT =
  /^(Connection terminated|Client (has encountered|was closed)|Unable to acquire a connection|aborted$)/;

/** True when the database did not answer, and the same statement may succeed later. What it did before that is not known. */
export function isUnavailable(error: unknown): boolean {
  const code = sqlState(error);
  if (isPoolExhausted(error) || AWAY_STATE.test(code ?? "")) return true;
  // Of a socket or of looking up its host; a file that is not there has another system call.
  const { syscall, message } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  if (["connect", "read", "write", "getaddrinfo"].includes(syscall ?? "")) return AWAY_CODES.has(code ?? "");
  return code === undefined && AWAY_TEXT.test(message ?? "");
}

/** Names of prepared statements by their text. Statements are constants of this room, so there are only so many. */
const names = new Map<string, string>();

/**
 * The rows of a raw statement, in the shape the statement names. Prepared once a connection: planning our longer
 * statements costs the server more than running them. Through a pooler nothing is prepared: the next transaction may meet
 * a session that does not know the name.
 */
export async function queryRows<Row>(
  db: Db,
  sql: string,
  bindings: Readonly<Record<string, unknown>> = {},
): Promise<Row[]> {
  let name = names.get(sql);
  if (name === undefined) {
    name = `s_${createHash("sha256").update(sql).digest("hex").slice(0, 32)}`;
    names.set(sql, name);
  }
  try {
    const answer: { rows: Row[] } = await db
      .raw(sql, bindings as Knex.ValueDict)
      .options(db.userParams.isPooled ? {} : { name });
    return answer.rows;
  } catch (error) {
    // PostgreSQL's detail quotes the row it refused, inputs and all, and knex adds what was bound when it got no
    // connection; errors end in logs.
    delete (error as { detail?: string }).detail;
    delete (error as { bindings?: unknown }).bindings;
    throw error;
  }
}
