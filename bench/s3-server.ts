import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { access, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { findCacheDir } from "../src/setup/servers/temporal-cache.ts";

const VERSITYGW = "v1.8.0";
const MOTO = "5.2.5";
const READY_MS_MAX = 30_000;
/** What the first use may take: the build needs two minutes on two idle cores. */
export const S3_INSTALL_MS_MAX = 15 * 60_000;

export interface S3Server {
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  stop(): Promise<void>;
}

/** How a server is had on this machine, and started with its data in a folder and its secrets in the environment. */
interface Rung {
  readonly name: string;
  readonly takes: string;
  readonly program: (cache: string) => string;
  readonly install: (cache: string) => Promise<void>;
  readonly args: (at: { host: string; port: number; dir: string }) => string[];
}

/** In this order: an S3 gateway that keeps real files, built with Go; then the simulation from PyPI. */
const RUNGS: readonly Rung[] = [
  {
    name: `versitygw ${VERSITYGW}`,
    takes: "about two minutes, once",
    program: (cache) => join(cache, `versitygw-${VERSITYGW}`),
    install: installVersitygw,
    // Metadata in a folder of their own: not every filesystem has extended attributes.
    args: ({ host, port, dir }) => [
      "--port",
      `${host}:${port}`,
      "--quiet",
      "posix",
      "--sidecar",
      join(dir, "meta"),
      join(dir, "data"),
    ],
  },
  {
    name: `moto ${MOTO}`,
    takes: "about a minute, once",
    program: (cache) => join(cache, `moto-${MOTO}`, "bin", "moto_server"),
    install: installMoto,
    args: ({ host, port }) => ["-H", host, "-p", String(port)],
  },
];

/** A server with one empty bucket, on a port and with a data folder of its own. Throws, saying what each way met, when there is none. */
export async function startS3Server(): Promise<S3Server> {
  const rung = await installed(join(findCacheDir(process.env), "test"));
  const dir = await mkdtemp(join(tmpdir(), "treadle-s3-"));
  await mkdir(join(dir, "meta"));
  await mkdir(join(dir, "data"));
  const [host, port] = ["127.0.0.1", await freePort()];
  const keys = { accessKeyId: "treadle-tests", secretAccessKey: randomUUID() };
  const child = spawnTied(rung.path, rung.args({ host, port, dir }), {
    ...process.env,
    ROOT_ACCESS_KEY_ID: keys.accessKeyId,
    ROOT_SECRET_ACCESS_KEY: keys.secretAccessKey,
  });
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
    throw new Error(`${rung.name} was started at ${server.endpoint} but made no bucket within ${READY_MS_MAX} ms.`, {
      cause: error,
    });
  }
  return { ...server, stop };
}

async function installed(cache: string): Promise<Rung & { path: string }> {
  const faults: Error[] = [];
  for (const rung of RUNGS) {
    const path = rung.program(cache);
    try {
      if (!(await exists(path))) {
        process.stderr.write(`Installing ${rung.name} for the storage tests (${rung.takes}) …\n`);
        await mkdir(cache, { recursive: true });
        await rung.install(cache);
      }
      return { ...rung, path };
    } catch (error) {
      faults.push(new Error(`${rung.name} could not be installed`, { cause: error }));
    }
  }
  const met = faults.map((fault) => `${fault.message}: ${(fault.cause as Error).message}`).join("\n");
  throw new AggregateError(
    faults,
    `The storage tests need Go 1.25 or newer, or Python 3 with venv, and their package registries.\n${met}`,
  );
}

async function installVersitygw(cache: string): Promise<void> {
  const building = await mkdtemp(join(cache, "building-"));
  try {
    await run("go", ["install", "-ldflags=-s -w", `github.com/versity/versitygw/cmd/versitygw@${VERSITYGW}`], {
      GOBIN: building,
      GOTOOLCHAIN: "local",
      CGO_ENABLED: "0",
    });
    await rename(join(building, "versitygw"), join(cache, `versitygw-${VERSITYGW}`));
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

async function installMoto(cache: string): Promise<void> {
  // A venv holds its own path, so it cannot be built elsewhere and renamed; its program appears last.
  const venv = join(cache, `moto-${MOTO}`);
  await run("python3", ["-m", "venv", "--clear", venv]);
  await run(join(venv, "bin", "python"), [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    `moto[server]==${MOTO}`,
  ]);
}

async function run(program: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  await promisify(execFile)(program, args, {
    env: { ...process.env, ...env },
    timeout: S3_INSTALL_MS_MAX / 2,
    maxBuffer: 1 << 24,
  });
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

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The system gave no port.");
  return address.port;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
