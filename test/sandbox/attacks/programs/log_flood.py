"""Text without end, on both streams."""

import sys

from siege import INPUTS, finish, os

line = b"x" * 1023 + b"\n"
for _ in range(INPUTS["mib"]):
    sys.stdout.buffer.write(line * 512)
    os.write(2, b"\n" * 4096)
    sys.stderr.buffer.write(line * 512)
finish()
