import os
import signal
import time

seen = []


def main():
    for number in (signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda number, frame: seen.append(signal.Signals(number).name))
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGTERM)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    deadline = time.monotonic() + 5
    while "SIGALRM" not in seen and time.monotonic() < deadline:
        time.sleep(0.01)
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    return sorted(set(seen))
