"""Adds numbers up, and takes its time over it. Committed under several names, each with a schedule of its own."""

import hashlib
import time


def main(token: str, numbers: list, seconds: float) -> dict:
    print(f"begin {token}")
    time.sleep(seconds)
    print(f"end {token}")
    text = "|".join([token, ",".join(str(number) for number in numbers)])
    return {"sum": sum(numbers), "digest": hashlib.sha256(text.encode()).hexdigest()}
