"""Takes more time than it may have."""

import time


def main(token: str) -> dict:
    print(f"begin {token}")
    time.sleep(600)
    return {}
