"""Code that wants to live on: daemons, threads, timers, handlers; they mark whatever comes after."""

import signal
import threading
import time

from siege import INPUTS, call_myself, detach, finish, got, os


def haunt():
    for _ in range(400):
        for folder in ("/app", "/tmp", "/dev/shm", "/app/outputs"):
            try:
                open(folder + "/haunted", "w").close()
            except OSError:
                pass
        time.sleep(0.01)


if INPUTS["plant"]:
    call_myself(INPUTS["name"])
    detach(haunt)
    threading.Thread(target=haunt, daemon=True).start()
    signal.signal(signal.SIGALRM, lambda *given: open("/app/outputs/haunted", "w").close())
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    time.sleep(0.02)
if INPUTS["look"]:
    time.sleep(0.15)
    for folder in ("/app", "/tmp", "/dev/shm", "/app/outputs"):
        if os.path.exists(folder + "/haunted"):
            got("haunted", folder)
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]
    if others:
        got("processes", others)
    if threading.active_count() > 1:
        got("threads", threading.active_count())
signal.setitimer(signal.ITIMER_REAL, 0)
finish()
