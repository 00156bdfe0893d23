import sys
import threading


def main():
    thread = threading.Thread(target=lambda: sys.exit(7))
    thread.start()
    thread.join()
    return "a thread's exit is its own"
