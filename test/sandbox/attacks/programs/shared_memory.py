"""Memory and queues with names: POSIX, System V, and those of multiprocessing."""

import ctypes
from multiprocessing import shared_memory

from siege import INPUTS, call, finish, got, libc, os


def plant():
    shared_memory.SharedMemory("planted", create=True, size=64)._name = "kept"
    with open("/dev/shm/planted-file", "w") as file:
        file.write("x")
    library = ctypes.CDLL(None, use_errno=True)
    library.sem_open(b"/planted", os.O_CREAT, 0o600, 1)
    for make in (lambda: call("shmget", 4711, 4096, 0o1600), lambda: call("msgget", 4711, 0o1600), lambda: call("semget", 4711, 1, 0o1600)):
        try:
            make()
            got("a System V object could be made") if INPUTS["look"] else None
        except OSError:
            pass


def look():
    found = sorted(os.listdir("/dev/shm"))
    if found:
        got("/dev/shm", found)
    for file in ("shm", "msg", "sem"):
        try:
            lines = open("/proc/sysvipc/" + file).read().splitlines()[1:]
        except OSError:
            continue
        if lines:
            got("System V " + file, lines)


if INPUTS["plant"]:
    plant()
if INPUTS["look"]:
    look()
libc.getpid()
finish()
