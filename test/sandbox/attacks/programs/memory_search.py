"""Counts how often a text is in its own memory and in the files it can read: one that an earlier execution was given."""

from siege import INPUTS, finish, os

# Not the text itself, which would be found where it was given.
wanted = bytes(number ^ 0x5A for number in INPUTS["masked"])


def search_memory():
    found = 0
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in open("/proc/self/maps"):
            bounds, rights = line.split()[:2]
            if "r" not in rights or "[v" in line:
                continue
            start, end = (int(bound, 16) for bound in bounds.split("-"))
            try:
                memory.seek(start)
                found += memory.read(end - start).count(wanted)
            except (OSError, ValueError, OverflowError):
                continue
    return found


def search_files():
    found = 0
    for folder in ("/app", "/tmp", "/dev/shm", "/lane", "/proc/self"):
        for parent, _, names in os.walk(folder):
            for name in names:
                try:
                    descriptor = os.open(os.path.join(parent, name), os.O_RDONLY | os.O_NONBLOCK)
                    found += os.read(descriptor, 1 << 16).count(wanted)
                    os.close(descriptor)
                except OSError:
                    continue
            if folder == "/proc/self":
                break
    return found


if wanted:
    print(search_memory() + search_files())
finish()
