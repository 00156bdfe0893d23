"""Has its work done by processes that belong to nobody, so that it looks as if it had done nothing."""

import time

from siege import INPUTS, detach, finish, os

def burn():
    end = time.monotonic() + INPUTS["seconds"]
    while time.monotonic() < end:
        pass
    os.write(write, b"done")


read, write = os.pipe()
detach(burn)
os.read(read, 4)
finish()
