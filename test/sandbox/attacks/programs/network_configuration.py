"""Changes to the sandbox's own network: the first step to somebody else's."""

import fcntl
import struct

from siege import attempt, finish, socket

client = socket.socket()


def flags(request, name, value):
    return fcntl.ioctl(client, request, struct.pack("16sH14s", name, value, b""))


attempt("loopback down", lambda: flags(0x8914, b"lo", 0) and flags(0x8914, b"lo", 1))
attempt("promiscuous", lambda: flags(0x8914, b"lo", 0x101))
attempt("an address", lambda: fcntl.ioctl(client, 0x8916, struct.pack("16sH2x4s8x", b"lo", socket.AF_INET, bytes([10, 9, 8, 7]))))
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
message = struct.pack("IHHII", 32, 16, 0x0605, 1, 0) + struct.pack("BBHiII", 0, 0, 0, 0, 0, 0)  # RTM_NEWLINK
route.send(message)
answer = struct.unpack("i", route.recv(4096)[16:20])[0]
if answer != -1:
    from siege import got

    got("RTM_NEWLINK", answer)
finish()
