"""Buffered and unbuffered writes to one stream keep the order in which they are flushed."""

import os
import sys

sys.stdout.write("first, buffered ")
sys.stdout.flush()
os.write(1, b"second, raw\n")
print("third")
os.write(1, b"fourth\n")
os.write(2, b"error\n")
with open("/dev/stdout", "w") as again:
    again.write("fifth\n")
with open("/proc/self/fd/2", "w") as again:
    again.write("error again\n")
