"""Takes what the kernel counts for the whole machine: contexts of asynchronous input and output, and terminals."""

import ctypes

from siege import INPUTS, attempt, finish, os, reach

if INPUTS["what"] == "contexts":
    for name in ("io_setup", "io_submit", "io_cancel", "io_getevents", "io_destroy"):
        reach(name, 1, ctypes.addressof(ctypes.c_ulong(0)), 0, 0, 0)
else:
    attempt("a new terminal", os.openpty)
    for path in ("/dev/ptmx", "/dev/pts/ptmx"):
        attempt(path, lambda: os.open(path, os.O_RDWR))
finish()
