import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Bench, jsonOf, openBench, UNPRIVILEGED } from "../../runner/harness.ts";

/** What the kernel counts by user, whatever sandbox a process is in. */
interface Count {
  readonly name: string;
  /** Takes all of it that a user may have, prints `has`, and keeps it for some seconds. */
  readonly hoard: string;
  /** Says as JSON what is left, in Python that a sandbox and the service's own user can run. */
  readonly look: string;
  readonly untouched: unknown;
}

/** `fs.epoll.max_user_watches` while these tests run as root: a tenth of what a small machine has. */
const WATCHES = 100_000;
const WATCHES_FILE = "/proc/sys/fs/epoll/max_user_watches";
const watchesBefore = readFileSync(WATCHES_FILE, "latin1");

const isRoot = process.getuid?.() === 0;
const WATCHES_OF_EPOLL: Count = {
  name: "watches of epoll",
  hoard: `
import os, select, time
for _ in range(12):
    if os.fork() == 0:
        try:
            events = [os.eventfd(0) for _ in range(120)]
            polls = []
            while True:
                polls.append(select.epoll())
                for event in events: polls[-1].register(event)
        except OSError: time.sleep(4)
        os._exit(0)
time.sleep(1.5)
print("has", flush=True)
time.sleep(2.5)
`,
  look: `
import os, select
try:
    select.epoll().register(os.eventfd(0))
    left = 1
except OSError: left = 0
`,
  untouched: 1,
};

const COUNTS: readonly Count[] = [
  ...(isRoot ? [WATCHES_OF_EPOLL] : []), // Nobody else can make them few enough to be taken by one program of a test.
  {
    // `fs.pipe-user-pages-soft`: 16,384 pages unless set otherwise. Whoever is above gets pipes of two pages.
    name: "pages of pipes",
    hoard: `
import os, time
pipes = []
for _ in range(12):
    if os.fork() == 0:
        for _ in range(110): pipes.append(os.pipe())
        os.write(1, b".")
        time.sleep(4)
        os._exit(0)
time.sleep(1.5)
print("has", flush=True)
time.sleep(2.5)
`,
    look: "import fcntl, json, os; left = fcntl.fcntl(os.pipe()[0], 1032)",
    untouched: 65_536,
  },
  {
    // As many as the sender may have open files, of all that the user has in flight.
    name: "descriptors in flight",
    hoard: `
import array, socket, time
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
try:
    for _ in range(9): pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 200))])
except OSError: pass
print("has", flush=True)
time.sleep(2)
`,
    look: `
import array, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
try:
    pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    left = 1
except OSError: left = 0
`,
    untouched: 1,
  },
];

let own: Bench;
let shared: Bench;
let hasUsers = false;

beforeAll(async () => {
  if (isRoot) writeFileSync(WATCHES_FILE, String(WATCHES));
  own = await openBench();
  hasUsers = own.settings.users !== undefined;
  if (hasUsers) shared = await openBench({ users: undefined });
});
afterAll(async () => {
  if (isRoot) writeFileSync(WATCHES_FILE, watchesBefore);
  await own?.close();
  await shared?.close();
});

/** What is left, while one sandbox hoards, for another one and for a process of the service's user. */
async function lookBeside(bench: Bench, { hoard, look }: Count): Promise<unknown[]> {
  let isThere: () => void = () => undefined;
  const there = new Promise<void>((resolve) => (isThere = resolve));
  const hoarding = bench.run({ code: hoard, onLine: ({ text }) => void (text.endsWith("has") && isThere()) });
  await Promise.race([there, hoarding]);
  const script = `${look}\nimport json; print(json.dumps(left))`;
  const ofService = execFileSync("/usr/bin/python3", ["-c", script], {
    ...(isRoot ? UNPRIVILEGED : {}),
    encoding: "utf8",
    cwd: "/",
  });
  const body = look.trim().replaceAll("\n", "\n    ");
  const inSandbox = await bench.run({ code: `def main():\n    ${body}\n    return {"left": left}` });
  await hoarding;
  return [jsonOf<unknown>(inSandbox, "left"), JSON.parse(ofService)];
}

test.each(COUNTS)("$name, taken by one sandbox, are there for another and for the service", async (count) => {
  if (!hasUsers) return expect(isRoot).toBe(false);
  expect(await lookBeside(own, count)).toEqual([count.untouched, count.untouched]);
  // And so it is the users that do it:
  const [left, ofService] = await lookBeside(shared, count);
  expect(left).not.toEqual(count.untouched);
  expect(ofService).not.toEqual(count.untouched);
});

test("timers and signals that wait, of one program, are few enough for the user that all of them count against", async () => {
  const code = `
import ctypes
def main():
    libc = ctypes.CDLL(None)
    timer, made = ctypes.c_void_p(), 0
    while made < 5_000 and libc.timer_create(0, None, ctypes.byref(timer)) == 0: made += 1
    return {"made": made}
`;
  const made = jsonOf<number>(await own.run({ code }), "made");
  expect(made).toBeGreaterThan(100);
  expect(made).toBeLessThanOrEqual(256);
});
