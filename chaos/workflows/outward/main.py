"""Has a network, and sends nothing to it."""

import hashlib
import time


def main(token: str, numbers: list) -> dict:
    print(f"begin {token}")
    time.sleep(0.5)
    print(f"end {token}")
    text = "|".join([token, ",".join(str(number) for number in numbers)])
    return {"sum": sum(numbers), "digest": hashlib.sha256(text.encode()).hexdigest()}
