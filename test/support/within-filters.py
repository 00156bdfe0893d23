"""Runs a command as a container does: with filters of system calls of its own, and without new privileges."""

import ctypes
import os
import platform
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD, EQUALS, ANSWER = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001
KEYCTL = {"x86_64": 250, "aarch64": 219}[platform.machine()]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def run(libc, *arguments):
    if libc.prctl(*arguments) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))


libc = ctypes.CDLL(None, use_errno=True)
# As the filters of Docker, Kubernetes and systemd, each refuses a call that nobody needs.
steps = [(LOAD, 0, 0, 0), (EQUALS, 0, 1, KEYCTL), (ANSWER, 0, 0, EPERM), (ANSWER, 0, 0, ALLOW)]
code = b"".join(struct.pack("HBBI", *step) for step in steps)
run(libc, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
for _ in range(2):
    run(libc, PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(Program(len(steps), code)))
os.execvp(sys.argv[1], sys.argv[1:])
