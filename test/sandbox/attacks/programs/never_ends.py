"""Ignores every signal, works without pause, and has children that do the same."""

import signal
import time

from siege import INPUTS, call_myself, got, os

call_myself(INPUTS["name"])
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
started = time.monotonic()
while time.monotonic() - started < INPUTS["seconds"]:
    pass
got("time", INPUTS["seconds"])
