import hashlib
import html
import json
import re
import string
import textwrap
import unicodedata
import urllib.parse


def main():
    return [
        re.findall(r"(?P<word>\w+)", "één twee"),
        json.dumps({"b": 1, "a": [1.0, 1e300, "ü"]}, sort_keys=True),
        hashlib.sha256(b"x").hexdigest(),
        hashlib.blake2b(b"x", digest_size=8).hexdigest(),
        html.escape("<&>"),
        string.Template("$a").substitute(a=1),
        textwrap.fill("word " * 30, 40),
        unicodedata.normalize("NFC", "u\u0308"),
        urllib.parse.quote("a b/ü"),
        sorted("Äpfel Zebra ähnlich".split()),
    ]
