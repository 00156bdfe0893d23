"""Uses a package, and shows what it got by that."""

import evil

from siege import attempt, finish, got, os

status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
if int(status["CapEff"], 16):
    got("capabilities", status["CapEff"].strip())
for number in range(1, 9):
    attempt(f"list /lane/{number}", lambda: os.listdir(f"/lane/{number}"))
open("outputs/mine.txt", "w").close()
finish()
