"""Families that network namespaces do not confine, or that are attack surface only."""

from siege import finish, got, note, socket

KINDS = {"vsock": (40, 1, 0), "alg": (38, 5, 0), "packet": (17, 3, 0x0300), "raw": (2, 3, 1), "raw6": (10, 3, 58), "netfilter": (16, 3, 12), "audit": (16, 3, 9), "uevent": (16, 3, 15), "crypto": (16, 3, 21), "xdp": (44, 3, 0), "mptcp": (2, 1, 262), "sctp": (2, 1, 132), "bluetooth": (31, 3, 0), "can": (29, 3, 1), "tipc": (30, 5, 0), "rds": (21, 5, 0), "kcm": (41, 5, 0)}
for name, arguments in KINDS.items():
    try:
        socket.socket(*arguments).close()
    except OSError as error:
        note("refused", [name, str(error)])
    else:
        got(name, "made")
for family in (40, 30):
    try:
        socket.socketpair(family, 1)
    except OSError:
        continue
    got("socketpair", family)
finish()
