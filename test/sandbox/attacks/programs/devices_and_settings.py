"""Device nodes, and settings of the whole machine."""

from siege import attempt, finish, os

attempt("block device", lambda: os.mknod("/tmp/device", 0o60600, os.makedev(254, 0)))
attempt("memory device", lambda: os.mknod("/tmp/memory", 0o20600, os.makedev(1, 1)))


def put(path, text):
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, text.encode())


for path, text in {"kernel/core_pattern": "|/tmp/x", "kernel/sysrq": "1", "kernel/modprobe": "/tmp/x", "vm/drop_caches": "3", "vm/overcommit_memory": "1", "user/max_user_namespaces": "99", "kernel/ns_last_pid": "99"}.items():
    attempt(path, lambda: put("/proc/sys/" + path, text))
attempt("sysrq-trigger", lambda: put("/proc/sysrq-trigger", "h"))
attempt("own uid map", lambda: put("/proc/self/uid_map", "0 0 1"))
attempt("lower oom score", lambda: put("/proc/self/oom_score_adj", "-1000"))
finish()
