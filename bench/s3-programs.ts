import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const VERSITYGW = "v1.8.0";
const MINIO = "v0.0.0-20260212201848-7aac2a2c5b7c";
const MOTO = "5.2.5";
/** What the first use of a program may take: a build needs minutes on two idle cores. */
export const S3_INSTALL_MS_MAX = 15 * 60_000;

export type S3Kind = "versitygw" | "minio" | "moto";

/** A program that speaks S3: how it is had on this machine, and started with its data in a folder and its secrets in the environment. */
export interface S3Program {
  readonly name: string;
  /** What the first use takes, for people. */
  readonly takes: string;
  /** Where it is in the cache. */
  readonly path: (cache: string) => string;
  readonly install: (cache: string) => Promise<void>;
  readonly args: (at: { host: string; port: number; dir: string }) => string[];
  readonly env: (keys: { accessKeyId: string; secretAccessKey: string }) => Record<string, string>;
}

/** A gateway that keeps real files; what is closest to Amazon's own in what it refuses; and a simulation, which takes nearly anything. */
export const S3_PROGRAMS: Readonly<Record<S3Kind, S3Program>> = {
  versitygw: {
    name: `versitygw ${VERSITYGW}`,
    takes: "about two minutes, once",
    path: (cache) => join(cache, `versitygw-${VERSITYGW}`),
    install: (cache) =>
      buildWithGo(cache, { name: "versitygw", version: VERSITYGW, module: "versity/versitygw/cmd/versitygw" }),
    // Metadata in a folder of their own: not every filesystem has extended attributes.
    args: ({ host, port, dir }) => [
      "--port",
      `${host}:${port}`,
      "--virtual-domain",
      "localhost",
      "--quiet",
      "posix",
      "--sidecar",
      join(dir, "meta"),
      join(dir, "data"),
    ],
    env: ({ accessKeyId, secretAccessKey }) => ({
      ROOT_ACCESS_KEY_ID: accessKeyId,
      ROOT_SECRET_ACCESS_KEY: secretAccessKey,
    }),
  },
  minio: {
    name: `MinIO ${MINIO}`,
    takes: "about three minutes, once",
    path: (cache) => join(cache, `minio-${MINIO}`),
    install: (cache) => buildWithGo(cache, { name: "minio", version: MINIO, module: "minio/minio" }),
    args: ({ host, port, dir }) => ["server", "--quiet", "--address", `${host}:${port}`, join(dir, "data")],
    env: ({ accessKeyId, secretAccessKey }) => ({
      MINIO_ROOT_USER: accessKeyId,
      MINIO_ROOT_PASSWORD: secretAccessKey,
      MINIO_DOMAIN: "localhost",
      // It encrypts with this key what it is asked to.
      MINIO_KMS_SECRET_KEY: `treadle:${randomBytes(32).toString("base64")}`,
      MINIO_BROWSER: "off",
      MINIO_UPDATE: "off",
    }),
  },
  moto: {
    name: `moto ${MOTO}`,
    takes: "about a minute, once",
    path: (cache) => join(cache, `moto-${MOTO}`, "bin", "moto_server"),
    install: installMoto,
    args: ({ host, port }) => ["-H", host, "-p", String(port)],
    env: () => ({}),
  },
};

async function buildWithGo(
  cache: string,
  { name, version, module }: { name: string; version: string; module: string },
): Promise<void> {
  const building = await mkdtemp(join(cache, "building-"));
  try {
    // Two files of tests may want it at once: the second then finds in Go's cache what the first has built.
    const install = ["go", "install", "-ldflags=-s -w", `github.com/${module}@${version}`];
    await run("flock", [join(cache, `${name}.lock`), ...install], {
      GOBIN: building,
      GOTOOLCHAIN: "local",
      CGO_ENABLED: "0",
    });
    await rename(join(building, name), join(cache, `${name}-${version}`));
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

async function installMoto(cache: string): Promise<void> {
  // A venv holds its own path, so it cannot be built elsewhere and renamed; its program appears last.
  const venv = join(cache, `moto-${MOTO}`);
  const script =
    'test -x "$0/bin/moto_server" || { python3 -m venv --clear "$0" && "$0/bin/python" -m pip install --quiet --disable-pip-version-check "$1"; }';
  await run("flock", [`${venv}.lock`, "sh", "-c", script, venv, `moto[server]==${MOTO}`]);
}

async function run(program: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  await promisify(execFile)(program, args, {
    env: { ...process.env, ...env },
    timeout: S3_INSTALL_MS_MAX,
    maxBuffer: 1 << 24,
  });
}
