"""Becoming somebody else."""

from siege import attempt, finish, os

open("/tmp/file", "w").close()
attempt("setuid 0", lambda: os.setuid(0))
attempt("setgid 0", lambda: os.setgid(0))
attempt("setreuid", lambda: os.setreuid(0, 0))
attempt("setgroups", lambda: os.setgroups([0]))
attempt("chown", lambda: os.chown("/tmp/file", 0, 0))
attempt("another user", lambda: os.setuid(1))
finish()
