import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { access, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePort } from "../src/setup/servers/free-port.ts";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";
import { S3_PROGRAMS, type S3Kind, type S3Program } from "./s3-programs.ts";

const READY_MS_MAX = 30_000;

export interface S3Server {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  stop(): Promise<void>;
}

/** In this order, where nobody asks for a certain one. */
const LADDER: readonly S3Kind[] = ["versitygw", "moto"];

/**
 * A server with one empty bucket, on a port and with a data folder of its own: of this kind, or of the first that can be
 * had. `env` are further settings of its program. Throws, saying what each way met, when there is none.
 */
export async function startS3Server(options: { kind?: S3Kind; env?: Record<string, string> } = {}): Promise<S3Server> {
  const kinds = options.kind === undefined ? LADDER : [options.kind];
  const { program, path } = await installed(join(findCacheDir(process.env), "test"), kinds);
  const dir = await mkdtemp(join(tmpdir(), "treadle-s3-"));
  await mkdir(join(dir, "meta"));
  await mkdir(join(dir, "data"));
  const host = "127.0.0.1";
  const port = await freePort(host);
  const keys = { accessKeyId: "treadle-tests", secretAccessKey: randomUUID() };
  const env = { ...process.env, HOME: dir, ...program.env(keys), ...options.env };
  const child = spawnTied(path, program.args({ host, port, dir }), env);
  const server = { endpoint: `http://${host}:${port}`, region: "us-east-1", bucket: "treadle-tests", ...keys };
  const stop = async () => {
    const exited = child.exitCode !== null ? Promise.resolve() : new Promise((resolve) => child.once("exit", resolve));
    child.stdin?.end();
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await createBucket(server);
  } catch (error) {
    await stop();
    throw new Error(`${program.name} was started at ${server.endpoint} but made no bucket within ${READY_MS_MAX} ms.`, {
      cause: error,
    });
  }
  return { ...server, stop };
}

async function installed(cache: string, kinds: readonly S3Kind[]): Promise<{ program: S3Program; path: string }> {
  const faults: Error[] = [];
  for (const kind of kinds) {
    const program = S3_PROGRAMS[kind];
    const path = program.path(cache);
    try {
      if (!(await exists(path))) {
        process.stderr.write(`Installing ${program.name} for the storage tests (${program.takes}) …\n`);
        await mkdir(cache, { recursive: true });
        await program.install(cache);
      }
      return { program, path };
    } catch (error) {
      faults.push(new Error(`${program.name} could not be installed`, { cause: error }));
    }
  }
  const met = faults.map((fault) => `${fault.message}: ${(fault.cause as Error).message}`).join("\n");
  throw new AggregateError(
    faults,
    `The storage tests need Go 1.25 or newer, or Python 3 with venv, and their package registries.\n${met}`,
  );
}

/** Starts a program that ends when its standard input does, and so with this process, however that ends. */
function spawnTied(program: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  const script = '"$@" & read -r _; kill $!; wait $!';
  return spawn("/bin/sh", ["-c", script, "sh", program, ...args], { env, stdio: ["pipe", "ignore", "ignore"] });
}

async function createBucket(server: Omit<S3Server, "stop">): Promise<void> {
  const { endpoint, region, accessKeyId, secretAccessKey } = server;
  const credentials = { accessKeyId, secretAccessKey };
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials, maxAttempts: 1 });
  const until = Date.now() + READY_MS_MAX;
  for (;;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: server.bucket }));
      client.destroy();
      return;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
