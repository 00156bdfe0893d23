"""What every attack program may use. What it gets goes to outputs/loot at once, one JSON line each; what was refused to outputs/refused."""

import ctypes
import errno
import json
import os
import platform
import socket

INPUTS = json.load(open("inputs.json"))
libc = ctypes.CDLL(None, use_errno=True)
"""Kept open, because some attacks that succeed move or hide the folder."""
OUTPUTS = os.open("outputs", os.O_RDONLY)
"""Kept, for attacks that replace it."""
dumps = json.dumps
X86 = platform.machine() == "x86_64"

"""Numbers of system calls on x86-64 and arm64; none of them is taken from the filter's own table."""
CALLS = {
    "unshare": (272, 97), "clone": (56, 220), "clone3": (435, 435), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "move_mount": (429, 429), "fsopen": (430, 430), "open_tree": (428, 428), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438), "kcmp": (312, 272), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "kexec_load": (246, 104),
    "init_module": (175, 105), "finit_module": (313, 273), "personality": (135, 92), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "swapon": (167, 224), "reboot": (169, 142), "acct": (163, 89), "syslog": (103, 116),
    "quotactl": (179, 60), "mbind": (237, 235), "move_pages": (279, 239), "fanotify_init": (300, 262), "shmget": (29, 194), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "memfd_secret": (447, 447), "io_setup": (206, 0), "io_destroy": (207, 1),
    "io_getevents": (208, 4), "io_submit": (209, 2), "io_cancel": (210, 3), "unknown": (470, 470), "far_unknown": (1000, 1000),
}  # fmt: skip


def note(file, fields):
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644, dir_fd=OUTPUTS)
    os.write(out, dumps(fields).encode() + b"\n")
    os.close(out)


def got(what, value=""):
    note("loot", [what, str(value)[:300]])


def tell(event):
    """An event as the runner writes it: the host reads no other."""
    os.write(3, json.dumps(event, separators=(",", ":")).encode() + b"\n")


def attempt(what, act):
    """`act` must not work. Answers whether it was refused."""
    try:
        value = act()
    except OSError as error:
        note("refused", [what, errno.errorcode.get(error.errno, str(error))])
        return True
    except BaseException as error:
        note("refused", [what, type(error).__name__ + " " + str(error)[:100]])
        return True
    got(what, repr(value))
    return False


def call(name, *arguments):
    ctypes.set_errno(0)
    number = CALLS[name][0 if X86 else 1]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(each) if isinstance(each, int) else each for each in arguments])
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def reach(name, *arguments):
    """A call that must be stopped by the filter, whatever the kernel would have said to it."""
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            return note("refused", [name, errno.errorcode[error.errno]])
        return got(name, "reached the kernel: " + errno.errorcode.get(error.errno, "?"))
    got(name, "done")


def connect(family, address, seconds=1.0):
    with socket.socket(family) as client:
        client.settimeout(seconds)
        client.connect(address)
        return client.recv(100).decode()


def call_myself(name):
    """The name under which the host looks for this process; forks keep it."""
    with open("/proc/self/comm", "w") as file:
        file.write(name)


def detach(act):
    """Runs `act` in a process of its own, in a session of its own, whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                act()
            finally:
                os._exit(0)
        os._exit(0)
    os.wait()


def finish():
    """Says that the program got to its end, so that no attack counts as contained because it never happened."""
    os.close(os.open("finished", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=OUTPUTS))
