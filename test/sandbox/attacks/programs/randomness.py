"""Draws from every source of random numbers; nothing may ever come twice."""

import multiprocessing
import random
import secrets
import ssl
import tempfile
import uuid

from siege import INPUTS, finish, got, os

seen = INPUTS["seen"]


def draw():
    return {
        "random": [random.random(), random.getrandbits(64), random.Random().random()],
        "secrets": [secrets.token_hex(16)],
        "uuid": [str(uuid.uuid4()), str(uuid.uuid1())],
        "openssl": [ssl.RAND_bytes(16).hex()],
        "tempfile": [tempfile.mktemp(), next(tempfile._get_candidate_names())],
        "urandom": [os.urandom(16).hex()],
        "authkey": [bytes(multiprocessing.current_process().authkey).hex()],
    }


for source, values in draw().items():
    for value in values:
        if str(value) in seen:
            got(source, value)
        print(value)
finish()
