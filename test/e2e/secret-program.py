"""Prints its secret in twelve disguises, and returns that it was the right one."""

import base64
import hashlib
import json
import os
import sys
import urllib.parse

import treadle


def main(password=None):
    secret = os.environ["WAREHOUSE_PASSWORD"]
    print("1", secret)
    print("2", secret, file=sys.stderr)
    sys.stdout.write("3 " + secret[:7])
    sys.stdout.flush()
    sys.stdout.write(secret[7:] + "\n")
    for letter in "4 " + secret + "\n":
        sys.stdout.write(letter)
        sys.stdout.flush()
    print("5", base64.b64encode(secret.encode()).decode())
    print("6", base64.urlsafe_b64encode(secret.encode()).decode())
    print("7 Basic", base64.b64encode(("etl:" + secret).encode()).decode())
    print("8", urllib.parse.quote(secret))
    print("9", urllib.parse.urlencode({"password": secret}))
    print("10", json.dumps({"password": secret}), repr(secret))
    print("11 postgres://etl:%s@warehouse/main" % urllib.parse.quote(secret, safe=""))
    treadle.progress(0.5, "12 " + secret)
    print("region", os.environ["REGION"], "level", os.environ["LEVEL"], flush=True)
    same = password is None or password == secret
    if os.environ["LEVEL"] == "fail":
        raise ValueError("refused: " + secret)
    return {"seen": {"sha256": hashlib.sha256(secret.encode()).hexdigest(), "same": same, "fed": password is not None}}
