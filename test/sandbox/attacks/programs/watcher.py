"""Watches files that all executions share, to learn what others do and when."""

import ctypes
import select
import sys
import time

from siege import INPUTS, finish, got, libc, os

if INPUTS["role"] == "watch":
    handle = libc.inotify_init1(os.O_NONBLOCK)
    watched = libc.inotify_add_watch(handle, b"/usr/lib/python%d.%d/colorsys.py" % sys.version_info[:2], 0x00000021) if handle >= 0 else -1
    print("up", flush=True)
    if watched >= 0:
        ready, _, _ = select.select([handle], [], [], 10)
        if ready and os.read(handle, 4096):
            got("what another execution reads", ctypes.get_errno())
    else:
        time.sleep(INPUTS["seconds"])
else:
    import linecache

    linecache.getlines("/usr/lib/python%d.%d/colorsys.py" % sys.version_info[:2])
finish()
