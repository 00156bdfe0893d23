"""Every process there is to see, and more: pids that are not listed."""

from siege import INPUTS, finish, got, os

listed = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
if len(listed) > 2:
    got("processes", listed)
for pid in (INPUTS["victim"], INPUTS["service"]):
    if os.path.exists(f"/proc/{pid}/status"):
        got("a process of the host", open(f"/proc/{pid}/cmdline").read())
finish()
