"""Adds numbers up, and takes its time over it. Committed under several names, each with a schedule of its own."""

import hashlib
import time


def main(token: str, numbers: list, seconds: float) -> dict:
    print(f"begin {token}")
    end = time.time() + seconds
    # Once a second, where others say it ten times: its log is to stay short enough to be looked at.
    while (left := end - time.time()) > 0:
        print(f"at {time.time():.3f}")
        time.sleep(min(left, 1))
    print(f"at {time.time():.3f}")
    print(f"end {token}")
    text = "|".join([token, ",".join(str(number) for number in numbers)])
    return {"sum": sum(numbers), "digest": hashlib.sha256(text.encode()).hexdigest()}
