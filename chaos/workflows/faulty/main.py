"""Leaves a file, then fails. It may be tried twice."""

import time
from pathlib import Path


def main(token: str) -> dict:
    print(f"begin {token}")
    Path("outputs/before.txt").write_text(token)
    for _ in range(2):
        print(f"at {time.time():.3f}")
        time.sleep(0.1)
    print(f"at {time.time():.3f}")
    raise ValueError(f"no luck with {token}")
