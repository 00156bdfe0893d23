"""Looks for the pipe by which process 1 tells how the execution ended, and tells it itself."""

import stat

from siege import finish, got, os

for number in range(256):
    path = f"/proc/1/fd/{number}"
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"0\n")
            got("a pipe of process 1", number)
    except OSError:
        pass
finish()
os._exit(9)
