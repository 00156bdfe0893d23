"""Takes more memory than it may have."""


def main(token: str) -> dict:
    print(f"begin {token}")
    held = []
    while len(held) < 64:
        held.append(b"x" * (16 * 1024 * 1024))
    return {"megabytes": 16 * len(held)}
