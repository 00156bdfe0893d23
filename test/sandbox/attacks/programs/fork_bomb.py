"""Processes without end, up to a number that no harm is done by."""

import time

from siege import INPUTS, call_myself, finish, got, os

call_myself(INPUTS["name"])
made = 0
try:
    while made < INPUTS["enough"]:
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        made += 1
except OSError:
    pass
if made >= INPUTS["enough"]:
    got("processes", made)
finish()
