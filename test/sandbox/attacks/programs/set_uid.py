"""Programs with the set-uid bit: the system's, and one that the commit brings."""

import subprocess

from siege import INPUTS, finish, got, os

for program in (INPUTS["folder"] + "/id", "/commit/id", "/usr/bin/id"):
    if os.path.exists(program) and subprocess.run([program, "-u"], capture_output=True, text=True).stdout.strip() == "0":
        got("root", program)
for command in (["su", "-c", "id"], ["mount", "-t", "tmpfs", "x", "/tmp"], ["sudo", "-n", "id"], ["newuidmap", "2", "0", "0", "1"]):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    except OSError:
        continue
    if done.returncode == 0:
        got("rights", command[0])
status = os.open("/proc/self/status", os.O_RDONLY)
if b"NoNewPrivs:\t1" not in os.read(status, 4096):
    got("new rights are possible")
finish()
