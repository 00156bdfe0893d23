"""Does nothing, for the host to look at it from outside, and to end it."""

import time

from siege import INPUTS, call_myself, finish

call_myself(INPUTS["name"])
finish()
print("up", flush=True)
time.sleep(15)
