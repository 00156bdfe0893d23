"""New namespaces and mounts: the way to capabilities, and through them to the larger half of the kernel."""

from siege import attempt, call, finish, os

attempt("unshare user", lambda: call("unshare", 0x10000000))
attempt("unshare mount", lambda: call("unshare", 0x20000))
attempt("unshare net", lambda: call("unshare", 0x40000000))
attempt("clone user", lambda: call("clone", 0x10000011, 0, 0, 0, 0) or os._exit(0))
attempt("clone with the flags of a lane's fork", lambda: call("clone", 0x3C020011, 0, 0, 0, 0) or os._exit(0))
attempt("clone3", lambda: call("clone3", 0, 88))
for name in ("net", "mnt", "user", "pid"):
    attempt("setns " + name, lambda: call("setns", os.open("/proc/1/ns/" + name, 0), 0))
attempt("mount tmpfs", lambda: call("mount", b"x", b"/tmp", b"tmpfs", 0, 0))
attempt("mount bind", lambda: call("mount", b"/tmp", b"/app", b"", 4096, 0))
attempt("mount proc", lambda: call("mount", b"proc", b"/proc", b"proc", 0xE, 0))
attempt("remount", lambda: call("mount", b"x", b"/usr", b"", 32 | 4096, 0))
attempt("umount", lambda: call("umount2", b"/app/outputs", 2))
attempt("pivot_root", lambda: call("pivot_root", b"/tmp", b"/tmp"))
attempt("move_mount", lambda: call("move_mount", -100, b"/tmp", -100, b"/app", 0))
attempt("fsopen", lambda: call("fsopen", b"tmpfs", 0))
attempt("open_tree", lambda: call("open_tree", -100, b"/tmp", 1))
attempt("chroot", lambda: os.chroot("/tmp"))
finish()
