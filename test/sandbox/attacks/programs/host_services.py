"""Services of the host: its loopback, unix sockets by path and by abstract name, its own addresses."""

from siege import INPUTS, attempt, connect, finish, socket

port = INPUTS["port"]
for address in ("127.0.0.1", "localhost", "0.0.0.0", "127.1.2.3", "0", "0x7f000001", "2130706433"):
    attempt("tcp " + address, lambda: connect(socket.AF_INET, (address, port)))
for address in ("::1", "::ffff:127.0.0.1", "::"):
    attempt("tcp " + address, lambda: connect(socket.AF_INET6, (address, port)))
attempt("unix socket", lambda: connect(socket.AF_UNIX, INPUTS["folder"] + "/socket"))
attempt("abstract socket", lambda: connect(socket.AF_UNIX, "\0" + INPUTS["socket"]))
finish()
