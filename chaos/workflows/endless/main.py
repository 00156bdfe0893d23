"""Takes more time than it may have."""

import time


def main(token: str) -> dict:
    print(f"begin {token}")
    while True:
        print(f"at {time.time():.3f}")
        time.sleep(0.1)
