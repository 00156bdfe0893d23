/**
 * The helper: a small program that is id 0 of the namespace that sandboxes' users live in, which is the service's own
 * kernel user outside. It does for the service what only a process with rights over those users can. It looks at their
 * descriptors, opens their pipes, measures and takes over what they leave. It runs no code of others, follows no link,
 * and answers each request with one JSON line. It does long ones in slices, so that the others do not wait.
 *
 * Its first argument is `make` (a new namespace, which another process gives its map) or `join` (descriptor 3).
 */
export const HELPER_PROGRAM = `
import ctypes, json, os, select, stat, sys

CLONE_NEWUSER, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 0x10000000, 4, 24
"""CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, SYS_PTRACE."""
KEPT = sum(1 << each for each in (0, 1, 2, 3, 19))
ENTRIES_AT_ONCE = 256
"""A user without an id here: root, where the service is root."""
NOBODY = 65534
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def enter():
    if sys.argv[1] == "make":
        check(libc.unshare(CLONE_NEWUSER), "unshare")
        print("made", flush=True)
        sys.stdin.readline()
    else:
        check(libc.setns(3, CLONE_NEWUSER), "setns")
        os.close(3)
    for capability in range(41):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)(KEPT, KEPT, 0, 0, 0, 0)), "capset")
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # The service opens the descriptors of this process.


def own(request):
    for path in request["paths"]:
        os.chown(path, request["uid"], request["gid"], follow_symlinks=False)
    yield


def open_ends(request):
    opened = []
    try:
        for pid, descriptor, writes in request["ends"]:
            path = "/proc/%d/fd/%d" % (pid, descriptor)
            opened.append(os.open(path, (os.O_WRONLY if writes else os.O_RDONLY) | os.O_NONBLOCK | os.O_CLOEXEC))
            if not stat.S_ISFIFO(os.fstat(opened[-1]).st_mode):
                raise OSError("descriptor %d of process %d is no pipe" % (descriptor, pid))
            os.fchmod(opened[-1], 0o666)
    except BaseException:
        close({"descriptors": opened})
        raise
    yield
    return opened


def close(request):
    for descriptor in request["descriptors"]:
        os.close(descriptor)


def close_ends(request):
    if request["pid"] == os.getpid():  # Those of a helper before this one have ended with it.
        close(request)
    yield


def descriptors(request):
    """Of each process, by descriptor, what it leads to; empty where it is gone, or was closed meanwhile."""
    yield
    return [{name: target(pid, name) for name in list_descriptors(pid)} for pid in request["pids"]]


def list_descriptors(pid):
    try:
        return os.listdir("/proc/%d/fd" % pid)
    except OSError:
        return []


def target(pid, name):
    try:
        return os.readlink("/proc/%d/fd/%s" % (pid, name))
    except OSError:
        return ""


def stat_descriptors(request):
    """Of each process, what its descriptors lead to; nothing where they are not to be had, or more than are left of "max"."""
    found, left = [], request["max"]
    for pid in request["pids"]:
        found.append(stat_of(pid, left))
        left -= len(found[-1] or ())
        yield
    return found


def stat_of(pid, max):
    try:
        names = os.listdir("/proc/%d/fd" % pid)
    except OSError:
        return None
    if len(names) > max:
        return None
    seen = []
    for name in names:
        try:
            found = os.stat("/proc/%d/fd/%s" % (pid, name))
        except OSError:
            continue
        kind = "file" if stat.S_ISREG(found.st_mode) else "socket" if stat.S_ISSOCK(found.st_mode) else "other"
        seen.append({"kind": kind, "links": found.st_nlink, "device": found.st_dev, "inode": found.st_ino, "blocks": found.st_blocks})
    return seen


def is_empty(request):
    yield
    with os.scandir(request["path"]) as entries:
        return next(entries, None) is None


def give(request):
    """Gives a tree to the user "to", 0 being the service: the top of it last, so that one that was interrupted shows."""
    to = request["to"]
    try:
        top = os.open(request["path"], FOLDER)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        os.chown(request["path"], to, to, follow_symlinks=False)
        return
    here = top
    levels = [(yield from give_files(here, to))]
    try:
        while True:
            if levels[-1]:
                try:
                    below = os.open(levels[-1].pop(), FOLDER, dir_fd=here)
                except PermissionError:
                    continue  # Root's, where the service stayed root: it needs nobody's help with that.
                os.close(here)
                here = below
                levels.append((yield from give_files(here, to)))
                continue
            if os.fstat(here).st_uid not in (to, NOBODY):
                os.fchown(here, to, to)
            levels.pop()
            if not levels:
                return
            above = os.open("..", FOLDER, dir_fd=here)  # Nobody moves folders about: all of them are dead.
            os.close(here)
            here = above
            yield
    finally:
        os.close(here)


def give_files(folder, to):
    """Gives all but the folders, whose names it answers."""
    folders = []
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number % ENTRIES_AT_ONCE == ENTRIES_AT_ONCE - 1:
                yield
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.stat(follow_symlinks=False).st_uid not in (to, NOBODY):
                os.chown(entry.name, to, to, dir_fd=folder, follow_symlinks=False)
    return folders


def measure(request):
    """As measureOutputs of outputs.ts, for folders that only their owner may look into."""
    top = os.open(request["path"], FOLDER)
    seen = {"bytes": os.fstat(top).st_blocks * 512, "files": 0}
    entries = 0

    def visit(folder, depth, prefix):
        nonlocal entries
        with os.scandir(folder) as listed:
            for entry in listed:
                entries += 1
                length = prefix + len(os.fsencode(entry.name))
                if entries > request["entriesMax"]:
                    seen["excess"] = "output_files"
                elif length > request["pathBytesMax"]:
                    seen["excess"] = "output_path"
                if "excess" in seen:
                    return
                if entries % ENTRIES_AT_ONCE == 0:
                    yield
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                is_folder = stat.S_ISDIR(found.st_mode)
                seen["bytes"] += max(0 if is_folder else found.st_size, found.st_blocks * 512)
                if not is_folder:
                    seen["files"] += 1
                elif depth >= request["depthMax"]:
                    seen["excess"] = "output_depth"
                else:
                    yield from visit_below(folder, entry.name, depth, length + 1)
                if "excess" in seen:
                    return

    def visit_below(folder, name, depth, prefix):
        try:
            below = os.open(name, FOLDER, dir_fd=folder)
        except OSError:
            return  # It went meanwhile.
        try:
            yield from visit(below, depth + 1, prefix)
        finally:
            os.close(below)

    try:
        yield from visit(top, 0, 0)
    finally:
        os.close(top)
    return seen


WORK = {"own": own, "open": open_ends, "close": close_ends, "descriptors": descriptors, "stat": stat_descriptors, "give": give, "measure": measure, "is_empty": is_empty}


def answer(number, **fields):
    line = json.dumps({"id": number, **fields}).encode() + b"\\n"
    while line:
        line = line[os.write(1, line):]


def serve():
    rest, under_way = b"", []
    while True:
        readable, _, _ = select.select([0], [], [], 0 if under_way else None)
        if readable:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                return  # The service has ended.
            *lines, rest = (rest + chunk).split(b"\\n")
            for line in lines:
                request = json.loads(line)
                under_way.append((request["id"], WORK[request["op"]](request)))
        for task in list(under_way):
            number, work = task
            try:
                next(work)
                continue
            except StopIteration as end:
                under_way.remove(task)
                answer(number, value=end.value)
            except Exception as error:
                under_way.remove(task)
                answer(number, error=str(error) or type(error).__name__)


enter()
print("ready", flush=True)
serve()
`;
