"""Puts files one after the other, each under its name and size."""

from pathlib import Path


def main(token: str, label: str, first: Path, others: "list[Path] | None") -> dict:
    print(f"begin {token}")
    packed = Path("outputs/packed.bin")
    files = [first, *(others or [])]
    with open(packed, "wb") as target:
        target.write(f"{label}\n".encode())
        for file in files:
            content = file.read_bytes()
            target.write(f"{file.name}:{len(content)}\n".encode() + content)
    print(f"end {token}")
    return {"packed": packed, "count": len(files)}
