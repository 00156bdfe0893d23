import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

/** Compiling takes less than a second; the first start of an interpreter from a slow disk takes many. */
const PREPARE_TIMEOUT_MS = 60_000;

/** The compiled runner: what the interpreter is started with. */
export const RUNNER_PROGRAM = "main.pyc";
export const ZYGOTE_PROGRAM = "zygote.pyc";

/** Synthetic, so that nothing of the host's users, names and resolvers is seen inside. */
const ETC_FILES: Readonly<Record<string, string>> = {
  passwd:
    "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:10001:10001:user:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
  group: "root:x:0:\nuser:x:10001:\nnogroup:x:65534:\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "resolv.conf": "",
  hostname: "sandbox\n",
};
/** What programs need of the host's `/etc`: the linker's cache, libraries chosen by `alternatives`, certificates, zone. */
const ETC_COPIES = [
  "ld.so.cache",
  "alternatives",
  "localtime",
  "mime.types",
  "ssl/certs",
  "ssl/openssl.cnf",
  "pki/tls/certs",
  "fonts",
];

/**
 * Copies the host's part of `/etc`, compiles without reading time stamps at every start, and links the interpreter. The
 * file names are those inside the sandbox. Opens all for the user of the sandboxes with any umask; links are left
 * alone. Certificates are hundreds of links: in a process of its own they keep nobody from starting.
 */
const FINISH = `
import os, py_compile, shutil, sys
folder, interpreter, *parts = sys.argv[1:]
for part in parts:
    source, target = os.path.join("/etc", part), os.path.join(folder, "etc", part)
    if not os.path.lexists(source):
        continue
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.isdir(source) and not os.path.islink(source):
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copyfile(source, target, follow_symlinks=False)
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
for parent in (folder, os.path.join(folder, "modules")):
    for name in os.listdir(parent):
        if name.endswith(".py"):
            inside = "/runner" + os.path.join(parent, name)[len(folder):]
            py_compile.compile(os.path.join(parent, name), dfile=inside, doraise=True, invalidation_mode=mode)
os.mkdir(os.path.join(folder, "bin"))
for name in ("python", "python3"):
    os.symlink(interpreter, os.path.join(folder, "bin", name))
for program in ("main", "zygote"):
    path = os.path.join(folder, program)
    py_compile.compile(path + ".py", path + ".pyc", dfile="/runner/%s.py" % program, doraise=True, invalidation_mode=mode)
os.chmod(folder, 0o755)
for parent, folders, files in os.walk(folder):
    for names, mode in ((folders, 0o755), (files, 0o644)):
        for path in (os.path.join(parent, name) for name in names):
            if not os.path.islink(path):
                os.chmod(path, mode)
`;

export interface RunnerFolderSources {
  /** The project's `runner/` folder. */
  readonly sourceDir: string;
  /** Where to make the folder; what is there is replaced. Its parent must exist and be passable for the sandbox's user. */
  readonly targetDir: string;
  readonly interpreterPath: string;
}

/**
 * Makes the folder that every sandbox sees: the runner compiled for one interpreter, a small `/etc`.
 * World-readable, written by us alone, complete or absent. Cheap enough to be made at every start of the service.
 */
export async function prepareRunnerFolder(sources: RunnerFolderSources): Promise<void> {
  const target = sources.targetDir;
  const folder = await mkdtemp(join(dirname(target), `${basename(target)}.`));
  try {
    await copyRunner(sources.sourceDir, folder);
    await mkdir(join(folder, "etc"));
    for (const [name, text] of Object.entries(ETC_FILES)) await writeFile(join(folder, "etc", name), text);
    await promisify(execFile)(
      sources.interpreterPath,
      ["-I", "-S", "-c", FINISH, folder, sources.interpreterPath, ...ETC_COPIES],
      {
        timeout: PREPARE_TIMEOUT_MS,
      },
    );
    await rm(target, { recursive: true, force: true });
    await rename(folder, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function copyRunner(sourceDir: string, folder: string): Promise<void> {
  await mkdir(join(folder, "modules"));
  for (const part of ["", "modules"]) {
    for (const name of await readdir(join(sourceDir, part))) {
      if (name.endsWith(".py")) await copyFile(join(sourceDir, part, name), join(folder, part, name));
    }
  }
}
