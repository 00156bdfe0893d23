"""Changes what the kernel keeps for a process, and looks for the changes."""

import fcntl
import resource
import signal

from siege import INPUTS, OUTPUTS, finish, got, libc, os

PLANTED = 200


def plant():
    os.umask(0o777)
    os.chdir("/tmp")
    os.nice(7)
    os.dup2(os.open("/dev/null", os.O_RDONLY), PLANTED, True)
    os.set_blocking(1, False)
    fcntl.fcntl(0, fcntl.F_SETFD, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
    os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[0]])
    libc.prctl(15, b"planted", 0, 0, 0)
    libc.prctl(36, 1, 0, 0, 0)
    libc.prctl(29, 10_000_000, 0, 0, 0)
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("997")
    with open("/proc/self/coredump_filter", "w") as file:
        file.write("0x7f")


def look():
    mask = os.umask(0o22)
    if mask != 0o22:
        got("umask", oct(mask))
    if os.getcwd() != "/app":
        got("working folder", os.getcwd())
    if os.getpriority(os.PRIO_PROCESS, 0) != 10:  # what the runner gives every program
        got("priority")
    if any(int(name) > 20 and int(name) != OUTPUTS for name in os.listdir("/proc/self/fd")):
        got("descriptor", os.listdir("/proc/self/fd"))
    if not os.get_blocking(1):
        got("a pipe that does not block")
    if signal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, []):
        got("signal mask")
    if signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        got("timer")
    if resource.getrlimit(resource.RLIMIT_STACK)[0] == 1 << 20:
        got("limit of the stack")
    if open("/proc/self/comm").read().strip() == "planted":
        got("name")
    if open("/proc/self/oom_score_adj").read().strip() == "997":
        got("oom score")
    if open("/proc/self/coredump_filter").read().strip() == "0000007f":
        got("dump filter")


if INPUTS["plant"]:
    plant()
if INPUTS["look"]:
    look()
os.chdir("/app")
finish()
