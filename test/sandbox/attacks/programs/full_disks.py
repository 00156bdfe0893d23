"""Fills every folder that can be written."""

from siege import INPUTS, finish, got, os

MIB = 1 << 20
for folder in ("/tmp", "/app", "/dev/shm"):
    written = 0
    try:
        for number in range(INPUTS["mib"]):
            with open(f"{folder}/{number}", "wb") as file:
                file.write(b"x" * MIB)
            written += 1
    except OSError:
        pass
    for number in range(written + 1):
        if os.path.exists(f"{folder}/{number}"):
            os.unlink(f"{folder}/{number}")
    if written >= INPUTS["mib"]:
        got(folder, f"{written} MiB")
finish()
