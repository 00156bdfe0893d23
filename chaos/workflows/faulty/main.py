"""Leaves a file, then fails. It may be tried twice."""

import time
from pathlib import Path


def main(token: str) -> dict:
    print(f"begin {token}")
    Path("outputs/before.txt").write_text(token)
    time.sleep(0.2)
    raise ValueError(f"no luck with {token}")
