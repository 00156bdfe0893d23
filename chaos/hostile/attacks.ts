/** What one tenant does to all others with nothing but a workflow: as the files of its folder, and how often at a time. */
export interface ProgramAttack {
  readonly name: string;
  readonly executions: number;
  readonly files: Readonly<Record<string, string>>;
  /** Seconds until all of its programs are at work; 3 unless given. */
  readonly seconds?: number;
  /** Whether the service is killed while the attack goes on, and started again. */
  readonly killed?: boolean;
  /** Whether only a service contains it whose sandboxes are kernel users of their own. */
  readonly ownUsers?: boolean;
}

const CONFIG = "limits: { timeout: 60s }\ntriggers:\n  api: { enabled: true }\n";

function attack(
  name: string,
  executions: number,
  main: string,
  more: Pick<ProgramAttack, "killed" | "ownUsers" | "seconds"> = {},
): ProgramAttack {
  return { name, executions, files: { "config.yaml": CONFIG, "main.py": main }, ...more };
}

/** Every one of these ended, froze, filled or starved an installation once, or is of the same kind. */
export const PROGRAM_ATTACKS: readonly ProgramAttack[] = [
  attack(
    "folders in folders, longer than any path may be",
    2,
    `import os, time
os.chdir("outputs")
for _ in range(40):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
time.sleep(30)
`,
    { killed: true },
  ),
  attack(
    "files below twenty folders, until the disk is full",
    2,
    `import os, time
os.chdir("outputs")
for _ in range(20):
    os.mkdir("d")
    os.chdir("d")
block = b"x" * (1 << 20)
end = time.time() + 6
number = 0
while time.time() < end:
    number += 1
    try:
        with open(f"f{number}", "wb") as file:
            for _ in range(60):
                file.write(block)
    except OSError:
        time.sleep(0.1)
`,
    { killed: true, seconds: 10 },
  ),
  attack(
    "files without a name, kept by a mapping alone, until the disk is full",
    2,
    `import mmap, os, time
kept = []
end = time.time() + 20
while time.time() < end:
    try:
        with open("outputs/file", "w+b") as file:
            os.posix_fallocate(file.fileno(), 0, 32 << 20)
            kept.append(mmap.mmap(file.fileno(), 32 << 20))
            os.unlink("outputs/file")
    except (OSError, ValueError):
        time.sleep(0.1)
`,
    { killed: true, seconds: 6 },
  ),
  attack(
    "leases on every file of the runner",
    2,
    `import fcntl, os, time
held = []
for folder, _, names in os.walk("/runner"):
    for name in names:
        try:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            held.append(descriptor)
        except OSError:
            pass
time.sleep(20)
`,
  ),
  attack("forty sleepers", 40, "import time\ntime.sleep(4)\n", { killed: true }),
  attack(
    "lines without end",
    4,
    `import sys, time
end = time.time() + 10
while time.time() < end:
    sys.stdout.write("x" * 200 + "\\n")
`,
  ),
  attack(
    "processes that only compute",
    8,
    `import os, time
end = time.time() + 15
for _ in range(40):
    if os.fork() == 0:
        while time.time() < end:
            pass
        os._exit(0)
time.sleep(15)
`,
  ),
  attack(
    "work for the kernel that comes to nothing",
    4,
    `import os, threading, time

def flush():
    with open("outputs/flushed", "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    os.sync()

def make_names():
    for number in range(40):
        os.close(os.open(f"outputs/{number}", os.O_CREAT))
    for number in range(40):
        os.unlink(f"outputs/{number}")

def start_thread():
    thread = threading.Thread(target=os.getpid)
    thread.start()
    thread.join()

def throw_out_pages():
    for folder in ("/usr/lib", "/runner"):
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

def ask_for_nothing():
    for number in range(1000):
        os.path.exists(f"/usr/lib/{time.time()}")

end = time.time() + 12
for work in (flush, make_names, start_thread, throw_out_pages, ask_for_nothing):
    if os.fork() == 0:
        while time.time() < end:
            work()
        os._exit(0)
time.sleep(12)
`,
  ),
  attack(
    "watches of epoll, descriptors in flight and pages of pipes, as many as a user of the kernel may have",
    3,
    `import array, fcntl, os, select, socket, time

def watch():
    events = [os.eventfd(0) for _ in range(240)]
    while True:
        kept.append(select.epoll())
        for event in events:
            kept[-1].register(event)

def pass_on():
    files = array.array("i", [0] * 200)
    while True:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept.append(pair)
        for _ in range(20):
            pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)], socket.MSG_DONTWAIT)

def widen():
    while True:
        kept.append(os.pipe())
        fcntl.fcntl(kept[-1][1], 1031, 1 << 20)

kept = []
for hoard in [watch] * 30 + [pass_on] * 6 + [widen] * 6:
    if os.fork() == 0:
        try:
            hoard()
        except OSError:
            time.sleep(20)
        os._exit(0)
time.sleep(20)
`,
    { ownUsers: true },
  ),
];
