"""Exchanges outputs for links to a file of the host, over and over, also when the program is long over."""

import random
import time

from siege import INPUTS, OUTPUTS, call_myself, detach, finish, os

NAMES = [f"swapped-{number}.txt" for number in range(8)]
call_myself(INPUTS["name"])


def make(name, as_link):
    if as_link:
        os.symlink(INPUTS["folder"] + "/secret.txt", name, dir_fd=OUTPUTS)
    else:
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=OUTPUTS))


def swap():
    os.closerange(0, OUTPUTS)
    for _ in range(100_000):
        for name in random.sample(NAMES, 4):
            try:
                make("new", random.random() < 0.5)
                os.rename("new", name, src_dir_fd=OUTPUTS, dst_dir_fd=OUTPUTS)
            except OSError:
                pass
        time.sleep(0.01)


for name in NAMES:
    make(name, False)
detach(swap)
time.sleep(0.1)
finish()
