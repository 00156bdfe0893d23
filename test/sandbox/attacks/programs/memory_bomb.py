"""More memory than was agreed to, of one kind: of the heap, shared, in files that live in memory, in a child."""

import mmap
import time

from siege import INPUTS, got, os

MIB = 1 << 20
KIND, AMOUNT = INPUTS["kind"], INPUTS["mib"]
held = []


def take(piece):
    if KIND == "heap":
        held.append(bytearray(os.urandom(1)) * (piece * MIB))
    elif KIND == "shared":
        memory = mmap.mmap(-1, piece * MIB)
        for page in range(0, piece * MIB, 4096):
            memory[page] = 1
        held.append(memory)
    elif KIND == "memfd":
        held.append(os.memfd_create("x"))
        os.write(held[-1], b"x" * (piece * MIB))
    else:
        folder = ("/tmp", "/dev/shm", "/app")[len(held) % 3]
        with open(f"{folder}/{len(held)}", "wb") as file:
            file.write(b"x" * (piece * MIB))
        held.append(folder)


if KIND == "children":
    for _ in range(3):
        if os.fork() == 0:
            KIND, AMOUNT = "heap", AMOUNT // 3
            break
for _ in range(AMOUNT // 4):
    take(4)
    time.sleep(0.004)
time.sleep(1.5)  # For whoever only looks now and then.
got(INPUTS["kind"], f"{AMOUNT} MiB")
