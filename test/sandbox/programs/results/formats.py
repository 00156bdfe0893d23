import datetime
import decimal
import enum
import uuid
from dataclasses import dataclass, field
from pathlib import Path


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    sku: str
    price: decimal.Decimal
    tags: set[str] = field(default_factory=set)


def main():
    Path("own.dat").write_bytes(bytes(range(256)))
    return {
        "text": "grüße\n",
        "bytes": b"\x00\xff",
        "array": bytearray(b"abc"),
        "view": memoryview(b"view"),
        "number": 1.5,
        "whole": 10**30,
        "flag": True,
        "list": [1, "two", None, (3, 4)],
        "nested": {"a": {"b": [{"c": 1}]}, 2: "two", None: 0},
        "day": datetime.date(2026, 1, 2),
        "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 678, datetime.timezone.utc),
        "delta": datetime.timedelta(minutes=1.5),
        "id": uuid.UUID(int=5),
        "line": Line("A1", decimal.Decimal("1.10"), {"b", "a"}),
        "colour": Colour.RED,
        "set": {3, 1, 2},
        "file": Path("own.dat"),
        "with.dot": "x",
        "ünï": "y",
        "lone": "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    }
