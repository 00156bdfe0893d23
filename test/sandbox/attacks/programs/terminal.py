"""Keys typed into a terminal that somebody else reads."""

import ctypes

from siege import errno, finish, got, libc, note

for what, number in {"TIOCSTI": 0x5412, "TIOCSTI with high bits": 0x5412 + (1 << 32), "TIOCLINUX": 0x541C, "TIOCSETD": 0x5423}.items():
    for descriptor in (0, 1, 3):
        ctypes.set_errno(0)
        libc.ioctl(ctypes.c_int(descriptor), ctypes.c_ulong(number), ctypes.c_char_p(b"\x02"))
        answer = errno.errorcode.get(ctypes.get_errno(), "done")
        if answer == "EPERM":
            note("refused", [what, answer])
        else:
            got(what, "reached the terminal layer: " + answer)
finish()
