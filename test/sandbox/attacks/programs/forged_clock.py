"""Works for a while and says again and again that it has only just started."""

import time

from siege import INPUTS, finish, os

until = time.monotonic() + INPUTS["seconds"]
while time.monotonic() < until:
    os.write(3, b'{"type":"started"}\n{"type":"ready","stdout":1,"stderr":2}\n{"type":"end","kind":"exit","code":0,"message":""}\n')
    time.sleep(0.02)
finish()
os.write(3, b'{"type":"started"}\n')
