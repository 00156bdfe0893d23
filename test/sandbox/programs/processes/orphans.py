"""A grandchild whose parent is gone belongs to process 1, and can still be waited for by nobody but it."""

import os
import time


def main():
    read, write = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            while os.getppid() != 1:
                time.sleep(0.005)
            os.write(write, b"adopted by %d" % os.getppid())
            os._exit(0)
        os._exit(0)
    os.wait()
    text = os.read(read, 100).decode()
    for _ in range(200):
        left = [name for name in os.listdir("/proc") if name.isdigit()]
        if len(left) == 2:
            break
        time.sleep(0.005)
    return [text, sorted(map(int, left))]
