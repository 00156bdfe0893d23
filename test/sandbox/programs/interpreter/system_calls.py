"""What the filter answers is the same both ways."""

import ctypes
import errno
import os
import socket


def main():
    libc = ctypes.CDLL(None, use_errno=True)

    def call(function, *arguments):
        ctypes.set_errno(0)
        result = getattr(libc, function)(*arguments)
        return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"

    def make(*arguments):
        try:
            socket.socket(*arguments).close()
            return "made"
        except OSError as error:
            return errno.errorcode[error.errno]

    return {
        "unshare": call("unshare", 0x10000000),
        "mount": call("mount", b"x", b"/tmp", b"tmpfs", 0, None),
        "ptrace": call("ptrace", 16, 1, 0, 0),
        "personality": call("personality", 0x40000),
        "chroot": call("chroot", b"/tmp"),
        "sethostname": call("sethostname", b"x", 1),
        "memfd": hasattr(os, "memfd_create") and os.memfd_create("x") > 0,
        "sockets": [make(*each) for each in ((1, 1), (2, 1), (2, 2), (10, 1), (16, 3), (16, 3, 12), (17, 3), (40, 1), (38, 5), (2, 3, 1), (2, 1, 262))],
    }
