"""A file of a tebibyte that takes no room until somebody copies it."""

import signal

from siege import OUTPUTS, attempt, finish, os

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
descriptor = os.open("sparse", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=OUTPUTS)
attempt("truncate", lambda: os.ftruncate(descriptor, 1 << 40))
attempt("seek and write", lambda: os.pwrite(descriptor, b"x", 1 << 40))
os.unlink("sparse", dir_fd=OUTPUTS)
finish()
