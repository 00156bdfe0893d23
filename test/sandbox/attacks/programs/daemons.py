"""Leaves processes behind, in sessions of their own, that hold the streams open and write outputs when it is gone."""

import time

from siege import INPUTS, OUTPUTS, call_myself, detach, finish, os

call_myself(INPUTS["name"])
MAIN = os.getpid()


def linger():
    while os.path.exists(f"/proc/{MAIN}/fd/0"):
        time.sleep(0.02)
    time.sleep(0.5)  # On a busy machine what ends them all is a moment late itself.
    for number in range(10):
        time.sleep(0.05)
        os.close(os.open(f"late-{number}", os.O_CREAT | os.O_WRONLY, dir_fd=OUTPUTS))


for _ in range(3):
    detach(linger)
finish()
