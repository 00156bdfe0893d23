import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { z } from "zod";
import { microCredits, type Prices, parseCredits } from "../domain/credits.ts";
import { DEFAULT_BOUNDS, type ManifestBounds } from "../domain/manifest/bounds.ts";
import type { S3Credentials } from "../storage/s3.ts";

const mebibytes = (count: number): number => count * 1024 * 1024;
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
/** How long something is kept; 0: for ever. */
const days = whole(0, 36_500);
const credits = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, "must be a number of credits with at most 6 decimals, such as 0.01");
const flag = z.enum(["true", "false", "1", "0"]).transform((text) => text === "true" || text === "1");

/**
 * Every setting of the service, with its default. `docs/operating.md` explains each; a test keeps the two equal.
 * What belongs to a workflow is in its manifest, what belongs to an account is a row.
 */
export const SETTINGS = z.object({
  TREADLE_HOST: z.string().min(1).default("127.0.0.1"),
  TREADLE_PORT: whole(0, 65_535).default(8443),
  TREADLE_PUBLIC_URL: z.url({ protocol: /^https$/ }).optional(),
  TREADLE_ROLE: z.enum(["all", "api", "worker"]).default("all"),
  TREADLE_METRICS_PORT: whole(0, 65_535).optional(),
  TREADLE_TRUST_PROXY: flag.default(false),
  TREADLE_TLS_CERT: z.string().optional(),
  TREADLE_TLS_KEY: z.string().optional(),
  TREADLE_DATA_DIR: z.string().min(1).default(".treadle"),
  TREADLE_CACHE_DIR: z.string().min(1).optional(),
  TREADLE_INSTALL: z.enum(["auto", "never"]).default("auto"),
  TREADLE_ISOLATION: z.enum(["sandbox", "none"]).default("sandbox"),
  TREADLE_SANDBOX_RUNTIME: z
    .string()
    .regex(/^(bubblewrap|runsc|\/.+)$/, "must be bubblewrap, runsc or the absolute path of a runsc")
    .default("bubblewrap"),
  TREADLE_PYTHON: z.string().min(1).optional(),
  TREADLE_SANDBOX_SLOTS: whole(1, 10_000).optional(),
  TREADLE_ACCOUNT_SLOTS_MAX: whole(1, 10_000).optional(),
  TREADLE_TIMEOUT_SECONDS_MAX: whole(60, DEFAULT_BOUNDS.timeoutSecondsMax).default(3_600),
  TREADLE_MEMORY_BYTES_MAX: whole(mebibytes(256), DEFAULT_BOUNDS.memoryBytesMax).default(mebibytes(8_192)),
  TREADLE_CPU_MAX: z.coerce.number().min(DEFAULT_BOUNDS.cpuMin).max(DEFAULT_BOUNDS.cpuMax).default(8),
  TREADLE_PROCESSES_MAX: whole(DEFAULT_BOUNDS.processesMin, DEFAULT_BOUNDS.processesMax).default(256),
  TREADLE_OPEN_FILES_MAX: whole(DEFAULT_BOUNDS.openFilesMin, DEFAULT_BOUNDS.openFilesMax).default(1_024),
  TREADLE_SCRATCH_BYTES_MAX: whole(DEFAULT_BOUNDS.scratchBytesDefault, DEFAULT_BOUNDS.scratchBytesMax).default(
    DEFAULT_BOUNDS.scratchBytesDefault,
  ),
  TREADLE_NETWORK_SLOTS: whole(0, 1_024).optional(),
  TREADLE_NETWORK_DENY: z.string().min(1).optional(),
  TREADLE_NETWORK_NAMESERVERS: z.string().min(1).optional(),
  TREADLE_NOTICE_HOSTS: z.string().min(1).optional(),
  TREADLE_WEBHOOK_HOSTS: z.string().min(1).optional(),
  TREADLE_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  TREADLE_SMTP_URL_FILE: z.string().min(1).optional(),
  TREADLE_SMTP_FROM: z.string().min(1).optional(),
  TREADLE_LANES_MAX: whole(0, 1_000).default(16),
  TREADLE_LANES_BYTES_MAX: whole(0, Number.MAX_SAFE_INTEGER).default(mebibytes(1024)),
  TREADLE_LANE_IDLE_SECONDS: whole(1, 86_400).default(600),
  TREADLE_WAITING_CALLS_MAX: whole(1, 1_000_000).default(5_000),
  TREADLE_WAIT_MAX_SECONDS: whole(1, 3_600).default(300),
  TREADLE_SMALL_OUTPUTS_BYTES_MAX: whole(0, 1_048_576).default(65_536),
  TREADLE_STARTS_MAX: whole(0, 1_000_000).default(10_000),
  TREADLE_STARTS_AGE_SECONDS: whole(1, 86_400).default(600),
  TREADLE_STOP_DELAY_SECONDS: whole(0, 600).default(0),
  TREADLE_DRAIN_SECONDS: whole(0, 86_400).default(3),
  TREADLE_HOST_GONE_SECONDS: whole(10, 86_400).default(300),
  TREADLE_CONNECTIONS_MAX: whole(16, 1_000_000).default(12_000),
  TREADLE_CONNECTIONS_PER_ADDRESS_MAX: whole(1, 1_000_000).default(6_000),
  TREADLE_FIRST_BYTE_SECONDS: whole(1, 600).default(10),
  TREADLE_HANDSHAKE_SECONDS: whole(1, 600).default(10),
  TREADLE_HEADERS_SECONDS: whole(1, 600).default(30),
  TREADLE_KEEP_ALIVE_SECONDS: whole(1, 3_600).default(65),
  TREADLE_TRANSFER_WINDOW_SECONDS: whole(1, 3_600).default(30),
  TREADLE_TRANSFER_BYTES_MIN: whole(1, mebibytes(1024)).default(30_000),
  TREADLE_BODY_SECONDS: whole(1, 86_400).default(600),
  TREADLE_BODY_BYTES_PER_SECOND: whole(1, mebibytes(1024)).default(100_000),
  TREADLE_RATE_LIMIT_PER_MINUTE: whole(0, 1_000_000).default(120),
  TREADLE_RATE_LIMIT_BURST: whole(1, 1_000_000).default(40),
  TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE: whole(0, 1_000_000).default(600),
  TREADLE_ACCOUNT_STORAGE_BYTES_MAX: whole(0, Number.MAX_SAFE_INTEGER).default(50_000_000_000),
  TREADLE_IDEMPOTENCY_DAYS: days.default(30),
  TREADLE_FILE_DAYS: days.default(30),
  TREADLE_LOG_DAYS: days.default(30),
  TREADLE_EXECUTION_DAYS: days.default(365),
  TREADLE_FILE_BYTES_MAX: whole(1, Number.MAX_SAFE_INTEGER).default(mebibytes(2048)),
  TREADLE_REQUEST_BYTES_MAX: whole(1, Number.MAX_SAFE_INTEGER).default(mebibytes(4096)),
  TREADLE_OUTPUT_BYTES_MAX: whole(1, Number.MAX_SAFE_INTEGER).default(mebibytes(2048)),
  TREADLE_LOG_BYTES_MAX: whole(1, mebibytes(1024)).default(mebibytes(10)),
  TREADLE_CREDITS_PER_CPU_SECOND: credits.default("0.01"),
  TREADLE_CREDITS_PER_EXECUTION: credits.default("0.001"),
  TREADLE_INITIAL_CREDITS: credits.default("1000"),
  TREADLE_CONTACT: z.string().min(1).optional(),
  TREADLE_EXAMPLES: z.string().min(1).default("all"),
  TREADLE_LOG_LEVEL: z.enum(["debug", "info", "warn", "error"]).default("info"),
  TREADLE_MASTER_KEY_FILE: z.string().min(1).optional(),
  TREADLE_STORAGE_URL: z.url().optional(),
  AWS_ACCESS_KEY_ID: z.string().min(1).optional(),
  AWS_ACCESS_KEY_ID_FILE: z.string().min(1).optional(),
  AWS_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  AWS_SECRET_ACCESS_KEY_FILE: z.string().min(1).optional(),
  AWS_SESSION_TOKEN: z.string().min(1).optional(),
  AWS_SESSION_TOKEN_FILE: z.string().min(1).optional(),
  DATABASE_URL: z.string().min(1).optional(),
  DATABASE_URL_FILE: z.string().min(1).optional(),
  DATABASE_POOLER_URL: z.string().min(1).optional(),
  DATABASE_POOLER_URL_FILE: z.string().min(1).optional(),
  TEMPORAL_ADDRESS: z.string().min(1).optional(),
  TEMPORAL_NAMESPACE: z.string().min(1).default("treadle"),
  TEMPORAL_CLI_PATH: z.string().min(1).optional(),
  TEMPORAL_UI_URL: z.string().min(1).optional(),
  TEMPORAL_TLS_CA: z.string().min(1).optional(),
  TEMPORAL_TLS_CERT: z.string().min(1).optional(),
  TEMPORAL_TLS_KEY: z.string().min(1).optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().min(1).optional(),
  TEMPORAL_API_KEY: z.string().min(1).optional(),
  TEMPORAL_API_KEY_FILE: z.string().min(1).optional(),
});

export type Settings = z.infer<typeof SETTINGS>;

/** Settings that hold a secret: `NAME_FILE` names a file that has it, as secrets are mounted into containers. */
const SECRETS = [
  ...(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] as const),
  ...(["DATABASE_URL", "DATABASE_POOLER_URL", "TEMPORAL_API_KEY", "TREADLE_SMTP_URL"] as const),
] as const;

/** Settings that contradict each other are refused as well. */
const CONSISTENT_SETTINGS = SETTINGS.refine(
  ({ TREADLE_ISOLATION, TREADLE_SANDBOX_RUNTIME }) =>
    TREADLE_ISOLATION === "sandbox" || TREADLE_SANDBOX_RUNTIME === "bubblewrap",
  { path: ["TREADLE_SANDBOX_RUNTIME"], message: "needs TREADLE_ISOLATION=sandbox" },
)
  .refine(
    ({ TREADLE_STORAGE_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY }) =>
      TREADLE_STORAGE_URL === undefined || (AWS_ACCESS_KEY_ID === undefined) === (AWS_SECRET_ACCESS_KEY === undefined),
    { path: ["AWS_ACCESS_KEY_ID"], message: "needs AWS_SECRET_ACCESS_KEY, and that one it" },
  )
  .refine(({ DATABASE_POOLER_URL, DATABASE_URL }) => DATABASE_POOLER_URL === undefined || DATABASE_URL !== undefined, {
    path: ["DATABASE_POOLER_URL"],
    message: "needs DATABASE_URL, which leads past the pooler",
  })
  .refine(
    ({ TEMPORAL_TLS_CERT, TEMPORAL_TLS_KEY }) => (TEMPORAL_TLS_CERT === undefined) === (TEMPORAL_TLS_KEY === undefined),
    { path: ["TEMPORAL_TLS_CERT"], message: "needs TEMPORAL_TLS_KEY, and that one it" },
  )
  .refine(
    ({ TREADLE_SMTP_URL, TREADLE_SMTP_FROM }) => (TREADLE_SMTP_URL === undefined) === (TREADLE_SMTP_FROM === undefined),
    { path: ["TREADLE_SMTP_URL"], message: "needs TREADLE_SMTP_FROM, and that one it" },
  );

/** Returns what a manifest may ask for on this installation. */
export function boundsOf(settings: Settings): ManifestBounds {
  return {
    ...DEFAULT_BOUNDS,
    timeoutSecondsMax: settings.TREADLE_TIMEOUT_SECONDS_MAX,
    memoryBytesMax: settings.TREADLE_MEMORY_BYTES_MAX,
    cpuMax: settings.TREADLE_CPU_MAX,
    processesMax: settings.TREADLE_PROCESSES_MAX,
    openFilesMax: settings.TREADLE_OPEN_FILES_MAX,
    scratchBytesMax: settings.TREADLE_SCRATCH_BYTES_MAX,
  };
}

/** Returns what programs cost on this installation. The shape of both settings has been checked already. */
export function pricesOf(settings: Settings): Prices {
  return {
    perCpuSecond: parseCredits(settings.TREADLE_CREDITS_PER_CPU_SECOND) ?? microCredits(0),
    perExecution: parseCredits(settings.TREADLE_CREDITS_PER_EXECUTION) ?? microCredits(0),
  };
}

/** Output files that an execution may make. */
export const OUTPUT_FILES_MAX = 1_000;

export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting that cannot be used. The message names all of them, what is wrong with each, and nothing of their values. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/**
 * Returns the secret `name`, from its variable or from the file that `NAME_FILE` names, without that file's last line break. Undefined
 * where neither is set; an empty variable counts as unset. Throws a SettingsError when both are, or the file has none.
 */
export function readSecret(env: Environment, name: string): string | undefined {
  const variable = `${name}_FILE`;
  const path = env[variable] || undefined;
  const value = env[name] || undefined;
  if (path === undefined) return value;
  if (value !== undefined) throw new SettingsError(`${variable}: is set, and so is ${name}. Set one of the two`);
  const text = readOrExplain(path, variable).replace(/\r?\n$/, "");
  if (text === "") throw new SettingsError(`${variable}: the file is empty. Write the secret into it`);
  return text;
}

/** Without the path: it may be the secret itself, set under the wrong name. */
function readOrExplain(path: string, variable: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SettingsError(`${variable}: the file cannot be read (${code}). Name one that this user may read`);
  }
}

/**
 * Reads all settings, and the files of secrets. Reports every problem at once, before anything is opened. An empty
 * variable counts as unset.
 */
export function loadSettings(env: Environment): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ""));
  const problems: string[] = [];
  for (const name of SECRETS) {
    try {
      given[name] = readSecret(env, name);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      problems.push(error.message);
    }
  }
  const parsed = CONSISTENT_SETTINGS.safeParse(given);
  if (parsed.success && problems.length === 0) return parsed.data;
  problems.push(...(parsed.error?.issues ?? []).map((issue) => `${issue.path.join(".")}: ${issue.message}`));
  const lines = problems.map((problem) => `  ${problem}`);
  throw new SettingsError(`Some settings cannot be used:\n${lines.join("\n")}\ndocs/operating.md explains each.`);
}

/** Returns where files are stored, and with which credentials; without any, the SDK of S3 looks in its usual places. */
export function storageOf(settings: Settings): { url: string | undefined; credentials: S3Credentials | undefined } {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, ...others } = settings;
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined
      ? undefined
      : { accessKeyId, secretAccessKey, sessionToken: others.AWS_SESSION_TOKEN };
  return { url: others.TREADLE_STORAGE_URL, credentials };
}

/** The operator's server for mail: `smtp://` or `smtps://`, with user and password where it wants them. */
export interface MailSettings {
  readonly url: string;
  /** Whom mails come from. */
  readonly from: string;
}

/** Returns the operator's server for mail; undefined without one. */
export function mailOf({ TREADLE_SMTP_URL: url, TREADLE_SMTP_FROM: from }: Settings): MailSettings | undefined {
  return url === undefined || from === undefined ? undefined : { url, from };
}

/** Limits of everybody with whom nothing else was agreed. 0 a minute: no limit. */
export interface RateLimits {
  readonly perMinute: number;
  readonly burst: number;
  readonly accountPerMinute: number;
}

export function rateLimitsOf(settings: Settings): RateLimits {
  return {
    perMinute: settings.TREADLE_RATE_LIMIT_PER_MINUTE,
    burst: settings.TREADLE_RATE_LIMIT_BURST,
    accountPerMinute: settings.TREADLE_ACCOUNT_RATE_LIMIT_PER_MINUTE,
  };
}

/** Returns how many programs may run at a time. */
export function slotCountOf(settings: Settings): number {
  return settings.TREADLE_SANDBOX_SLOTS ?? availableParallelism() * 2;
}
