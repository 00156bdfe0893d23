"""Threads without end, up to a number that no harm is done by."""

import threading
import time

from siege import INPUTS, finish, got, os

made = 0
try:
    while made < INPUTS["enough"]:
        threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
if made >= INPUTS["enough"]:
    got("threads", made)
finish()
os._exit(0)
