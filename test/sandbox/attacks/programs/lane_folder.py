"""The folder of the lane, where outputs and inputs of other executions lie."""

from siege import INPUTS, attempt, finish, os

attempt("list /lane", lambda: os.listdir("/lane"))
for number in range(1, 8):
    for name in ("outputs", "inputs"):
        attempt(f"list /lane/{number}-{name}", lambda: os.listdir(f"/lane/{number}-{name}"))
        attempt(f"write /lane/{number}-{name}", lambda: open(f"/lane/{number}-{name}/mark", "w").close())
attempt("descriptors of the lane", lambda: os.listdir("/proc/self/root/lane"))
finish()
