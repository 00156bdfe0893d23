"""Poison for the next execution: its code, its packages, our runner, the interpreter's library, and every other mount."""

from siege import attempt, finish, os

SCRATCH = {"/tmp", "/app", "/dev/shm", "/app/outputs", "/proc"}
mounts = {line.split()[4] for line in open("/proc/self/mountinfo")}
folders = mounts | {"/", "/commit", "/env", "/env/lib", "/runner", "/runner/modules", "/usr", "/usr/lib", "/etc", "/dev", "/run", "/var", "/lane", "/app/inputs", "/proc/sys/kernel"}
for folder in sorted(folders - SCRATCH):
    if os.path.isdir(folder) and folder != "/app/inputs":
        attempt("new file in " + folder, lambda: open(folder + "/treadle-mark", "w").close())
for path in ("/commit/main.py", "/runner/main.pyc", "/env/lib/marker.py", "/etc/ld.so.preload", "/etc/passwd"):
    attempt("write " + path, lambda: open(path, "r+").close())
    attempt("replace " + path, lambda: os.replace("/app/inputs.json", path))
finish()
