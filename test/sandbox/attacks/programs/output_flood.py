"""Outputs without end: many small ones, or a few large ones."""

from siege import INPUTS, OUTPUTS, os

for number in range(INPUTS["files"]):
    descriptor = os.open(f"flood-{number}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=OUTPUTS)
    for _ in range(INPUTS["mib"]):
        os.write(descriptor, b"x" * (1 << 20))
    os.close(descriptor)
