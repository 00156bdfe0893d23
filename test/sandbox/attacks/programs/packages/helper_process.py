"""Starts a process that stays, listens, and tells."""

import os
import socket


def serve():
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0evil")
    server.listen(5)
    heard = b""
    while True:
        client, _ = server.accept()
        client.send(heard + b".")
        heard = client.recv(100)


if os.fork() == 0:
    os.setsid()
    serve()


def remember(text):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0evil")
        client.recv(100)
        client.send(text.encode())


def recall():
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect("\0evil")
            heard = client.recv(100).decode().rstrip(".")
            client.send(heard.encode())
            return [heard]
        except OSError:
            return []
