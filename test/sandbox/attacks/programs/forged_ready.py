"""Offers descriptors of its own choice as its streams, as the runner does before it has its request."""

import time

from siege import INPUTS, finish, os

folder = os.open("/etc", os.O_RDONLY)
file = os.open("/etc/passwd", os.O_RDONLY)
read, write = os.pipe()
os.write(write, b"from a pipe of my choice\n")
for first, second in ((folder, file), (file, folder), (read, read), (999_999, -1), (3, 3)):
    os.write(3, b'{"type":"ready","stdout":%d,"stderr":%d}\n' % (first, second))
time.sleep(INPUTS["seconds"])
finish()
print("the end", flush=True)
