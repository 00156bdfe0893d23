"""Variables of the run in this process, in what it starts, and not in what was started before it had them."""

import os
import subprocess
import sys


def main():
    print(os.environ["REGION"], os.environ["TOKEN"] == "s3cret-" + "value", os.getenv("TOKEN") is not None)
    print(subprocess.check_output("echo $REGION; echo ${#TOKEN}", shell=True, text=True))
    print(sorted(name for name in os.environ if name in ("REGION", "TOKEN", "LEVEL")))
    print("it is", os.environ["TOKEN"])
    sys.stderr.write(os.environ["TOKEN"][:5])
    sys.stderr.flush()
    sys.stderr.write(os.environ["TOKEN"][5:] + "\n")
    first = open("/proc/1/environ", "rb").read() if os.access("/proc/1/environ", os.R_OK) else b""
    print(b"TOKEN" in first)
    raise ValueError(os.environ["TOKEN"])
