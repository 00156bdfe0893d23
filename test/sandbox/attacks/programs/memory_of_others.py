"""The memory and the descriptors of process 1, which is nobody's but ours."""

import ctypes

from siege import INPUTS, attempt, call, finish, os


class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def read_memory():
    space = ctypes.create_string_buffer(8)
    near = Piece(ctypes.addressof(space), 8)
    start = int(open("/proc/self/maps").readline().split("-")[0], 16)
    far = Piece(start, 8)
    return call("process_vm_readv", 1, ctypes.addressof(near), 1, ctypes.addressof(far), 1, 0)


def open_other(number, mode):
    path = f"/proc/1/fd/{number}"
    if os.readlink(path) == "/dev/null":
        raise OSError(0, "is nobody's")
    return os.open(path, mode | os.O_NONBLOCK)


try:
    read_memory()
except OSError as error:
    # An address that is not mapped there: it was looked at.
    attempt("process_vm_readv", lambda: "looked" if error.errno == 14 else (_ for _ in ()).throw(error))
else:
    attempt("process_vm_readv", lambda: "read")
attempt("pidfd_getfd", lambda: call("pidfd_getfd", os.pidfd_open(1), 0, 0))
attempt("kcmp", lambda: call("kcmp", 1, os.getpid(), 2, 0, 0))
for name in ("mem", "stack", "exe") if INPUTS["mem"] else ("stack", "exe"):
    attempt("/proc/1/" + name, lambda: open("/proc/1/" + name, "r+b"))
for number in range(64):
    for mode in (os.O_RDONLY, os.O_WRONLY):
        attempt(f"/proc/1/fd/{number}", lambda: open_other(number, mode))
if INPUTS["attach"]:
    attempt("ptrace", lambda: call("ptrace", 16, 1, 0, 0))
finish()
