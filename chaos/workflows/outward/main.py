"""Has a network, and sends nothing to it."""

import hashlib
import time


def main(token: str, numbers: list) -> dict:
    print(f"begin {token}")
    for _ in range(5):
        print(f"at {time.time():.3f}")
        time.sleep(0.1)
    print(f"at {time.time():.3f}")
    print(f"end {token}")
    text = "|".join([token, ",".join(str(number) for number in numbers)])
    return {"sum": sum(numbers), "digest": hashlib.sha256(text.encode()).hexdigest()}
