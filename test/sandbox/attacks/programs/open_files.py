"""Descriptors without end."""

from siege import INPUTS, finish, got, os

held = []
try:
    while len(held) < INPUTS["enough"]:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
if len(held) >= INPUTS["enough"]:
    got("descriptors", len(held))
os.closerange(held[0], held[-1] + 1)
finish()
