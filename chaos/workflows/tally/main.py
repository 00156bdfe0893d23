"""Adds numbers up, and takes its time over it when asked to."""

import hashlib
import time


def main(token: str, numbers: list, seconds: float, secret: "str | None") -> dict:
    print(f"begin {token}")
    over = time.monotonic() + seconds
    while (left := over - time.monotonic()) > 0:
        print(f"at {time.time():.3f}")
        time.sleep(min(left, 0.1))
    words = [token, secret or "", ",".join(str(number) for number in numbers)]
    print(f"at {time.time():.3f}")
    print(f"end {token}")
    return {"sum": sum(numbers), "digest": hashlib.sha256("|".join(words).encode()).hexdigest()}
