"""Files of the host and of other executions, by every path that leads there."""

from siege import INPUTS, attempt, finish, os

planted = INPUTS["folder"]
for prefix in ("", "/proc/1/root", "/proc/self/root", "/proc/thread-self/root", "/proc/1/cwd", "/../../..", "/proc/self/cwd/../../../..", "/dev/fd/0/../../.."):
    attempt("list " + prefix, lambda: os.listdir(prefix + planted))
    attempt("read " + prefix, lambda: open(prefix + planted + "/secret.txt").read())
for path in ("/etc/shadow", "/root/.ssh/id_rsa", "/var/run/docker.sock", "/sys/fs/cgroup/memory/tasks", "/dev/vda", "/dev/sda", "/dev/kvm", "/dev/mem", "/dev/net/tun", "/dev/fuse"):
    attempt("open " + path, lambda: open(path, "rb").read(9))
for path in ("/root", "/home", "/srv", "/var", "/sys", "/boot", "/opt"):
    attempt("list " + path, lambda: os.listdir(path))
finish()
