"""Takes more time than it may have; of three calls one is well again."""

import time


def main(token: str) -> dict:
    print(f"begin {token}")
    while int(token.rsplit("-", 1)[1]) % 3 > 0:
        print(f"at {time.time():.3f}")
        time.sleep(0.1)
    print(f"end {token}")
    return {}
