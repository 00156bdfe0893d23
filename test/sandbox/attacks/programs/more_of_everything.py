"""More than was agreed to: higher limits, better priority."""

import resource

from siege import attempt, finish, os

attempt("nice", lambda: os.nice(-5))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))
for name in ("NPROC", "NOFILE", "FSIZE", "CORE"):
    limit = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(limit)
    attempt("more " + name, lambda: resource.setrlimit(limit, (soft + 1, max(soft + 1, hard))))
finish()
