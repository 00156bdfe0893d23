"""Adds numbers up, and takes its time over it when asked to."""

import hashlib
import time


def main(token: str, numbers: list, seconds: float, secret: "str | None") -> dict:
    print(f"begin {token}")
    time.sleep(seconds)
    words = [token, secret or "", ",".join(str(number) for number in numbers)]
    print(f"end {token}")
    return {"sum": sum(numbers), "digest": hashlib.sha256("|".join(words).encode()).hexdigest()}
