"""The folder of the lane, where outputs and inputs of other executions lie."""

from siege import INPUTS, attempt, finish, os

attempt("list /lane", lambda: os.listdir("/lane"))
for number in range(1, 8):
    for folder in ("/lane", "/lane-inputs"):
        attempt(f"list {folder}/{number}", lambda: os.listdir(f"{folder}/{number}"))
        attempt(f"write {folder}/{number}", lambda: open(f"{folder}/{number}/mark", "w").close())
attempt("descriptors of the lane", lambda: os.listdir("/proc/self/root/lane"))
finish()
