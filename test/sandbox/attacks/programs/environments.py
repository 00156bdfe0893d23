"""The service's environment and everybody else's, wherever the kernel shows it."""

import subprocess

from siege import INPUTS, attempt, finish, got, os

shown = [repr(dict(os.environ)), subprocess.run(["env"], capture_output=True, text=True).stdout]
for pid in (name for name in os.listdir("/proc") if name.isdigit()):
    for file in ("environ", "cmdline"):
        try:
            shown.append(open(f"/proc/{pid}/{file}").read())
        except OSError:
            pass
if any(INPUTS["half"] in text for text in shown):
    got("a secret", "of the host's environment")
if os.getpid() == 2:
    attempt("the memory of process 1", lambda: open("/proc/1/mem", "rb").read(1))
    attempt("the environment of process 1", lambda: INPUTS["half"] in open("/proc/1/environ").read() and "found" or {}["nothing"])
finish()
