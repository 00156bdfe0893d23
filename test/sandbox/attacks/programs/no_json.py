"""Values that JSON does not have, or that only hurt whoever reads them."""

from siege import finish


def main(which):
    finish()
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return {"value": {"nan": {"x": float("nan")}, "infinity": [float("inf")], "deep": deep}[which]}
