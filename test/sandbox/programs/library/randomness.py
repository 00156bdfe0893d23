"""Lengths and shapes only, and that a seed decides everything."""

import random
import secrets
import uuid


def main():
    values = [random.random(), random.random(), random.randrange(10**9), secrets.token_hex(8), str(uuid.uuid4()), str(uuid.uuid1())]
    random.seed(42)
    return {"distinct": len(set(map(str, values))), "lengths": [len(values[3]), len(values[4])], "seeded": [random.random(), random.sample(range(100), 5), random.choice("abc")], "uuid5": str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))}
