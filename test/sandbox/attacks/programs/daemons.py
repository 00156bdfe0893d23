"""Leaves processes behind, in sessions of their own, that hold the streams open and write outputs when it is gone."""

import time

from siege import INPUTS, OUTPUTS, call_myself, detach, finish, os

call_myself(INPUTS["name"])
MAIN = os.getpid()


def linger():
    for _ in range(100):
        time.sleep(0.02)
        if not os.path.exists(f"/proc/{MAIN}/fd/0"):
            break
    for number in range(10):
        time.sleep(0.05)
        os.close(os.open(f"late-{number}", os.O_CREAT | os.O_WRONLY, dir_fd=OUTPUTS))


for _ in range(3):
    detach(linger)
finish()
