"""Forks of the zygote: the first process of an execution's namespaces, and the user's process below it."""

import ctypes
import gc
import posix
import resource  # noqa: F401
import signal
import sys

import _treadle_failures  # What executions use is loaded once, here.
import _treadle_folder
import _treadle_library
import _treadle_outputs
import _weakref
import atexit
import fcntl

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000
CLONE_NEWNET = 0x40000000
"""The seccomp filter of the lane lets exactly this combination pass."""
CLONE_FLAGS = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | signal.SIGCHLD
SYS_CLONE = {"x86_64": 56, "aarch64": 220}[posix.uname().machine]
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
SECCOMP_MODE_FILTER = 2
CAPABILITIES = 41
CAPABILITY_VERSION_3 = 0x20080522
DESCRIPTORS_MAX = 1 << 16
REQUEST_FD = 4
"""More often than the interpreter runs code before it specialises it (PEP 659: eight times in Python 3.11)."""
REHEARSALS = 20
REHEARSAL = compile("def main(count=1):\n    return {'count': count + 1}\n", "<rehearsal>", "exec")
LOWEST_MOVED = 64
HIDDEN = b"size=4k,nr_inodes=2,mode=000"

"""Keeps the interpreter's lock during calls: the clone must not find another thread in the middle of something."""
libc = ctypes.PyDLL(None, use_errno=True)
"""Looked up once, here, and found from then on: a fork would look each of them up anew."""
for library, names in (
    (libc, ("syscall", "mount", "prctl", "capset", "kill", "waitpid")),
    (ctypes.pythonapi, ("PyOS_BeforeFork", "PyOS_AfterFork_Parent", "PyOS_AfterFork_Child")),
):
    for name in names:
        getattr(library, name)


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, posix.strerror(number)))
    return result


def mount(source, target, kind, flags, options=None):
    check(libc.mount(source, target, kind, flags, options), "mount " + target.decode())


def write(path, text):
    descriptor = posix.open(path, posix.O_WRONLY)
    posix.write(descriptor, text)
    posix.close(descriptor)


class Lane:
    def __init__(self, runner, request, compiled, left):
        self.runner = runner
        for module in (_treadle_failures, _treadle_library, _treadle_outputs):
            runner.loaded[module.__name__] = module
        self.request = request
        self.clone_flags = CLONE_FLAGS | (CLONE_NEWNET if request["network"] else 0)
        self.compiled = compiled
        self.left = left
        self.kept = frozenset(sys.modules)
        self.kept_main = sys.modules["__main__"]  # A fork replaces it, and its functions are still needed then.
        self.filter = bytes.fromhex(request["filter"])
        self.filter_buffer = ctypes.create_string_buffer(self.filter, len(self.filter))
        address = ctypes.cast(self.filter_buffer, ctypes.c_void_p).value
        self.program = Program(len(self.filter) // 8, address)
        self.no_capabilities = (ctypes.c_uint32 * 6)()
        self.ids = b"%d %d 1" % (posix.getuid(), posix.getuid()), b"%d %d 1" % (posix.getgid(), posix.getgid())
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # The kernel reaps forks, also while this process is stopped.

    def rehearse(self):
        """Does here what forks do first: functions of libraries are bound at their first call and code is specialised after
        some, which every fork would do for itself otherwise, on pages that it had to copy for that."""
        for _ in range(REHEARSALS):
            self.touch_runner()
            for end in posix.pipe():
                posix.close(move_up(end))
                posix.close(end)
            write("/dev/null", b"")

    def touch_runner(self):
        """Touches what the first moments of an execution touch, so that a fork has its own copies of those pages ahead of time."""
        self.runner.parse_json('{"kinds": {"name": "string"}, "inputs": {"name": null, "count": 1.5}}')
        module = type(sys)("rehearsal")
        exec(REHEARSAL, module.__dict__)
        _treadle_outputs.encode(self.runner.call(module.main, {"count": 1}))
        try:
            open(self.runner.RUNNER_FOLDER + "/nothing", "rb")
        except OSError:
            pass

    def fork(self, number):
        ctypes.pythonapi.PyOS_BeforeFork()
        pid = libc.syscall(SYS_CLONE, self.clone_flags, 0, 0, 0, 0)
        if pid != 0:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
            return check(pid, "clone")
        ctypes.pythonapi.PyOS_AfterFork_Child()
        try:
            self.begin(number)
        except BaseException as error:
            posix.write(2, ("A fork of the lane could not be set up: %r\n" % error).encode())
        posix._exit(1)

    def begin(self, number):
        """Process 1 of the execution: makes its world, starts the user's process in it, and tells how that ended."""
        posix.setsid()
        uids, gids = self.ids
        write("/proc/self/setgroups", b"deny")
        write("/proc/self/uid_map", uids)
        write("/proc/self/gid_map", gids)
        self.make_world(number)
        self.lock()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        stdout, stderr, request, result = posix.pipe(), posix.pipe(), posix.pipe(), posix.pipe()
        control, seal = posix.pipe(), posix.pipe()
        user = posix.fork()
        if user == 0:
            posix.close(result[1])
            self.become_user(stdout, stderr, request, control, result[0], seal[0])
        for end in (*stdout, *stderr, *control, request[0], result[0], self.runner.CONTROL_FD):
            posix.close(end)
        for output in (1, 2):
            posix.dup2(0, output)  # Nothing is left that the zygote has, too.
        # The host has looked at this process, which only works before this: nobody in here is to look into it.
        posix.read(seal[0], 1)
        check(libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")
        posix.write(result[1], b"sealed\n")
        # The request's writing end stays open until the end: without a writer, the reader would see the end of it at once.
        while True:
            pid, status = posix.waitpid(-1, 0)
            if pid == user:
                break
        self.end_the_others()
        posix.write(result[1], b"%d\n" % (posix.WEXITSTATUS(status) if posix.WIFEXITED(status) else 128 + posix.WTERMSIG(status)))
        posix._exit(0)

    def end_the_others(self):
        """The end of the user's process is the end of the execution. What it started ends before the end is reported."""
        if libc.kill(-1, signal.SIGKILL) == 0:
            while libc.waitpid(-1, None, 0) > 0:
                pass

    def make_world(self, number):
        request = self.request
        write("/proc/sys/user/max_user_namespaces", b"0")
        options = "size=%d,nr_inodes=%d,mode=%%s" % (request["scratchBytes"], request["scratchInodes"])
        work = request["workDir"]
        for folder, mode in ((work, "700"), ("/tmp", "1777"), ("/dev/shm", "1777")):
            mount(b"tmpfs", folder.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, (options % mode).encode())
        for name, folder in (("outputs", request["laneDir"]), ("inputs", request["inputsDir"])):
            posix.mkdir(work + "/" + name, 0o755)
            if name == "inputs" and not request["hasFiles"]:
                continue
            source, target = ("%s/%d" % (folder, number)).encode(), (work + "/" + name).encode()
            mount(source, target, None, MS_BIND)
            if name == "inputs":
                mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)
        # What other executions of the lane have, and had, lies below these.
        mount(b"tmpfs", request["laneDir"].encode(), b"tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, HIDDEN)
        if request["hasFiles"]:
            mount(b"tmpfs", request["inputsDir"].encode(), b"tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, HIDDEN)
        mount(b"proc", b"/proc", b"proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        _treadle_folder.lay_out(work, request["commitDir"])
        for path, mode, content in self.left:
            lay_again(path, mode, content)

    def lock(self):
        """Gives up every capability and every call that user code must not make. There is no way back from here."""
        for capability in range(CAPABILITIES):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        check(libc.capset(ctypes.byref(CapabilityHeader(CAPABILITY_VERSION_3, 0)), self.no_capabilities), "capset")
        check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(self.program), 0, 0), "seccomp")

    def become_user(self, stdout, stderr, request, control, result, seal):
        """The user's process, up to the point where only the request is missing; then with it, to its end."""
        runner = self.runner
        # Above the ends that are given fixed numbers below, so that none of them is overwritten.
        ends = [move_up(end) for end in (stdout[0], stderr[0], control[0], request[0], result)]
        outer = move_up(runner.CONTROL_FD)
        for end, descriptor in ((stdout[1], 1), (stderr[1], 2), (control[1], runner.CONTROL_FD), (request[0], REQUEST_FD)):
            posix.dup2(move_up(end), descriptor, descriptor < 3)
        names = ("stdout", "stderr", "control", "request", "result", "seal")
        fields = ",".join('"%s":%d' % pair for pair in zip(names, [*ends, seal]))
        posix.closerange(REQUEST_FD + 1, LOWEST_MOVED)
        posix.write(outer, ('{"type":"forked",%s}\n' % fields).encode())
        posix.close(outer)
        self.reseed()
        runner.flush_each_line()
        self.touch_runner()
        message = runner.read_request(REQUEST_FD)
        posix.closerange(runner.CONTROL_FD + 1, DESCRIPTORS_MAX)
        runner.write_inputs(message)
        runner.apply_limits(message["rlimits"])
        code = runner.run_user_code(message, self.compiled)
        self.finish(code)

    def reseed(self):
        """`random` reseeds itself after a fork; these do not, or keep what they drew when they were imported."""
        legacy = sys.modules.get("numpy.random.mtrand")
        if legacy is not None:
            legacy._rand.seed()
        tempfile = sys.modules.get("tempfile")
        if tempfile is not None:
            tempfile._name_sequence = None
        processes = sys.modules.get("multiprocessing.process")
        if processes is not None:
            processes.current_process()._config["authkey"] = processes.AuthenticationString(posix.urandom(32))

    def finish(self, code):
        """Ends the interpreter as its own end would for everything that is the execution's: threads, exit handlers, the
        globals of its modules. What the zygote had loaded is left as it is: taking it down would copy all of its pages."""
        threading = sys.modules.get("threading")
        try:
            if threading is not None:
                threading._shutdown()
            atexit._run_exitfuncs()
            drop_modules([name for name in sys.modules if name not in self.kept or name == "__main__"])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        for stream in (sys.stdout, sys.stderr):
            if stream is None or getattr(stream, "closed", False):
                continue
            try:
                stream.flush()
            except BaseException:
                code = code or 120  # As the interpreter does when its output cannot be written.
        posix._exit(code)


def drop_modules(names):
    """As at the end of the interpreter: modules nobody holds go first, the others lose their globals, last loaded first."""
    alive = []
    for name in names:
        module, sys.modules[name] = sys.modules[name], None
        try:
            alive.append(_weakref.ref(module))
        except TypeError:
            pass
        del module
    gc.collect()
    for reference in reversed(alive):
        module = reference()
        if isinstance(module, type(sys)):  # Anything may be put into sys.modules.
            clear(module.__dict__)
        del module
    gc.collect()


def clear(names):
    """The order in which the interpreter clears a module: names with one underscore first, then the others."""
    for private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name[:1] == "_" and name[:2] != "__") is private:
                names[name] = None


def move_up(descriptor):
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST_MOVED)


def lay_again(path, mode, content):
    try:
        if content is None:
            posix.mkdir(path, mode)
        else:
            descriptor = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, mode)
            posix.write(descriptor, content)
            posix.close(descriptor)
    except FileExistsError:
        pass
