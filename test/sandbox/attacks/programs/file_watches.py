"""Takes leases on files that others open, which would make them wait, and asks to be told when folders are used."""

import fcntl
import glob
import sys

from siege import attempt, finish, os

F_SETLEASE, F_NOTIFY = 1024, 1026
PYTHON = "/usr/lib/python%d.%d" % sys.version_info[:2]


def ask(path, command, value):
    file = os.open(path, os.O_RDONLY)
    attempt("%d on %s" % (command, path), lambda: fcntl.fcntl(file, command, value))
    os.close(file)


for folder in ("outputs", "/tmp"):
    with open(folder + "/own", "w"):
        pass
for path in ("outputs/own", "/tmp/own", *glob.glob("/runner/*.py*"), PYTHON + "/os.py"):
    ask(path, F_SETLEASE, fcntl.F_RDLCK)
for path in ("outputs", "/tmp", "/runner", "/commit", PYTHON):
    ask(path, F_NOTIFY, 1)  # DN_ACCESS
finish()
