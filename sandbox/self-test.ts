import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toText } from "./control.ts";
import type { Sandbox, SandboxSettings } from "./request.ts";

const TIMEOUT_SECONDS = 20;
const PROBLEMS_MAX = 100;

/** Tries each thing and collects those that worked. It knows what the host has planted from its inputs. */
const PROBE = `
import ctypes, os, socket

def main(secret, port, name, gvisor):
    problems = []
    libc = ctypes.CDLL(None, use_errno=True)

    def forbid(what, act):
        try:
            act()
        except OSError:
            return
        problems.append(what)

    def connect(family, address):
        with socket.socket(family) as client:
            client.settimeout(2)
            client.connect(address)

    def call(result):
        if result < 0:
            raise OSError(ctypes.get_errno(), "refused")

    def expect(what, found, wanted):
        if found != wanted:
            problems.append("%s is %r and should be %r" % (what, found, wanted))

    forbid("a file of the host can be read", lambda: open(secret).close())
    forbid("a port of the host can be reached", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
    forbid("an abstract socket of the host can be reached", lambda: connect(socket.AF_UNIX, "\\0" + name))
    forbid("sockets to the hypervisor can be made", lambda: socket.socket(40, socket.SOCK_STREAM).close())
    forbid("namespaces can be made", lambda: call(libc.unshare(0x10000000)))
    forbid("the lane's folder can be read", lambda: os.listdir("/lane"))
    for folder in ("/", "/usr", "/etc", "/dev", "/commit", "/runner"):
        forbid(folder + " can be written", lambda: open(folder + "/treadle-probe", "w").close())
    status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
    expect("the set of capabilities", status["CapEff"].strip(), "0" * 16)
    expect("the bound of capabilities", status["CapBnd"].strip(), "0" * 16)
    expect("no_new_privs", status["NoNewPrivs"].strip(), "1")
    expect("the seccomp mode", status["Seccomp"].strip(), "2")
    if gvisor:
        said = ctypes.create_string_buffer(4096)
        if libc.klogctl(3, said, 4096) < 0 or b"gVisor" not in said.value:
            problems.append("programs run on the kernel of the machine and not in gVisor")
    others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in (1, os.getpid())]
    if others:
        problems.append("other processes can be seen")
    return {"problems": problems}
`;

/**
 * Runs the probe against a file, a port and an abstract socket of the host that are there for it to find. `parent` is where
 * its files are: outputs are renamed to there, so it must be on the file system where `run` has them made.
 */
export async function testIsolation(
  settings: SandboxSettings,
  run: Sandbox["run"],
  parent: string = tmpdir(),
): Promise<string[]> {
  if (settings.isolation === "none")
    return ["Isolation is switched off: user code has the rights of the user it runs as."];
  const folder = mkdtempSync(join(parent, "treadle-probe-"));
  const name = `treadle-probe-${process.pid}-${Date.now()}`;
  const servers: Server[] = [];
  try {
    chmodSync(folder, 0o755);
    const paths = {
      commitDir: join(folder, "commit"),
      spoolDir: join(folder, "spool"),
      secret: join(folder, "secret"),
    };
    for (const path of [paths.commitDir, paths.spoolDir]) {
      mkdirSync(path);
      chmodSync(path, 0o755);
    }
    for (const [path, content] of [
      [join(paths.commitDir, "main.py"), PROBE],
      [paths.secret, "secret"],
    ] as const) {
      writeFileSync(path, content);
      chmodSync(path, 0o644); // with any umask
    }
    const tcp = await listen(servers, { host: "127.0.0.1", port: 0 });
    await listen(servers, { path: `\0${name}` });
    const { outcome, outputs } = await run({
      executionId: "self-test",
      commitDir: paths.commitDir,
      environmentDir: null,
      entrypoint: "main.py",
      spoolDir: paths.spoolDir,
      inputs: {
        secret: paths.secret,
        port: (tcp.address() as AddressInfo).port,
        name,
        gvisor: settings.gvisor !== undefined,
      },
      kinds: { secret: "string", port: "integer", name: "string", gvisor: "boolean" },
      files: [],
      declaredOutputs: ["problems"],
      limits: { ...settings.limits, timeoutSeconds: Math.min(TIMEOUT_SECONDS, settings.limits.timeoutSeconds) },
    });
    const file = outputs.find((output) => output.name === "problems");
    if (outcome.status !== "success" || file === undefined)
      return [`The isolation test did not finish: ${outcome.message}`];
    return parseProblems(await readFile(file.path, "utf8"));
  } finally {
    for (const server of servers) server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** The probe is ours, but what it says came out of a sandbox. */
function parseProblems(text: string): string[] {
  const value: unknown = JSON.parse(text);
  if (!Array.isArray(value)) return ["The isolation test answered something else than a list."];
  return value.slice(0, PROBLEMS_MAX).map((problem) => toText(problem, 500));
}

function listen(servers: Server[], where: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => resolve(server));
  });
}
