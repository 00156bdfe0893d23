"""Every deadly signal for process 1, the parent, the service, a process of the same user, and all there are."""

import signal

from siege import INPUTS, finish, os

if INPUTS["all"]:
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
        for pid in (1, os.getppid(), INPUTS["service"]):
            try:
                os.kill(pid, number)
            except OSError:
                pass
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError:
        pass
try:
    os.kill(INPUTS["victim"], signal.SIGKILL)
except OSError:
    pass
finish()
