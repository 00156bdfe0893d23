"""Closes everything, so that whoever waits for a word from it might wait for ever, and goes on in secret."""

import time

from siege import OUTPUTS, call_myself, finish, got, os, INPUTS

call_myself(INPUTS["name"])
finish()
for number in range(256):
    if number != OUTPUTS:
        try:
            os.close(number)
        except OSError:
            pass
if os.fork():
    os._exit(0)
time.sleep(INPUTS["seconds"])
got("time", "after the end")
