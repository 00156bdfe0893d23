import signal
import time


class Stop(Exception):
    pass


def stop(number, frame):
    raise Stop


def main():
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(30)
    except Stop:
        return "stopped"
