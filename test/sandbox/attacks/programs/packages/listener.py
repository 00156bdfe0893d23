"""Listens where its forks can reach it, and reads what they said whenever it may run."""

import signal
import socket

server = socket.socket(socket.AF_UNIX)
server.bind("\0evil")
server.listen(5)
server.setblocking(False)
heard = []


def tick(*_):
    try:
        while True:
            heard.append(server.accept()[0].recv(100).decode())
    except OSError:
        pass


signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)


def remember(text):
    signal.setitimer(signal.ITIMER_REAL, 0)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0evil")
        client.send(text.encode())


def recall():
    tick()
    return heard
