"""The folder that a program works in."""

import posix

OWN_NAMES = ("inputs", "outputs", "inputs.json")
COPIED_AT_ONCE = 1 << 16
FORMAT_BITS, FOLDER = 0o170000, 0o040000


def lay_out(work, commit):
    """The working folder is a copy of the commit's folder, with inputs.json, inputs/ and outputs/ beside its files. A copy,
    because a link leads out of the working folder, and what it leads to cannot be changed."""
    mask = posix.umask(0)
    copy_folder(commit, work, OWN_NAMES)
    posix.umask(mask)
    posix.chdir(work)


def copy_folder(source, target, left_out=()):
    for name in posix.listdir(source):
        if name in left_out:
            continue
        path, copy = source + "/" + name, target + "/" + name
        mode = posix.stat(path).st_mode
        if mode & FORMAT_BITS == FOLDER:
            posix.mkdir(copy, 0o755)
            copy_folder(path, copy)
        else:
            copy_file(path, copy, 0o755 if mode & 0o111 else 0o644)


def copy_file(source, target, mode):
    original = posix.open(source, posix.O_RDONLY | posix.O_CLOEXEC)
    copy = posix.open(target, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, mode)
    while chunk := posix.read(original, COPIED_AT_ONCE):
        while chunk:
            chunk = chunk[posix.write(copy, chunk) :]
    posix.close(original)
    posix.close(copy)
