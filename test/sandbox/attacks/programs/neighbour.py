"""Two executions at the same time: one listens everywhere, the other tries to reach it."""

import time

from siege import INPUTS, connect, finish, got, note, os, socket

PORT = INPUTS["port"]

if INPUTS["role"] == "listen":
    servers = [socket.create_server(("0.0.0.0", PORT)), socket.socket(socket.AF_UNIX)]
    servers[1].bind("\0neighbour" + str(PORT))
    servers[1].listen()
    print("up", flush=True)
    for server in servers:
        server.settimeout(INPUTS["seconds"])
        try:
            client, _ = server.accept()
            client.sendall(b"hello")
            got("a visitor")
        except OSError:
            break
else:
    for family, address in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_UNIX, "\0neighbour" + str(PORT))):
        try:
            got("the neighbour", connect(family, address, INPUTS["seconds"]))
        except OSError as error:
            note("refused", [str(family), str(error)])
    for pid in range(2, 400):
        if pid != os.getpid() and os.path.exists(f"/proc/{pid}"):
            text = open(f"/proc/{pid}/cmdline").read()
            if "main.py" in text or "treadle" in text:
                got("its process", text)
    time.sleep(0.01)
finish()
