"""Takes memory and processes while it is imported, before anybody counts."""

import os
import time

MIB = 1 << 20
with open("/proc/self/comm", "w") as file:
    file.write("NAME")
made = 0
try:
    while made < 60:
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError:
    pass
pieces = []
try:
    for _ in range(80):
        pieces.append(bytearray(b"x") * (4 * MIB))
        time.sleep(0.004)
except MemoryError:
    pass
time.sleep(0.1)
