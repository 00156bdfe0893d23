import os
import subprocess


def main():
    return {
        "python": dict(os.environ),
        "shell": sorted(line for line in subprocess.check_output(["env"], text=True).splitlines() if not line.startswith("_=")),
        "home": os.path.expanduser("~"),
        "kernel": sorted(open("/proc/self/environ").read().split("\0")),
    }
