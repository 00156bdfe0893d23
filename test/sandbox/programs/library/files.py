import fcntl
import glob
import mmap
import os
import shutil
from pathlib import Path


def main():
    folder = Path("work")
    folder.mkdir()
    for name in ("b.txt", "a.txt", "ü.bin"):
        (folder / name).write_text(name)
    os.link(folder / "a.txt", folder / "hard")
    os.symlink("a.txt", folder / "soft")
    shutil.copytree(folder, "copy", symlinks=True)
    shutil.make_archive("/tmp/all", "zip", "copy")
    with open(folder / "a.txt", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with mmap.mmap(file.fileno(), 0) as memory:
            memory[0:1] = b"A"
    os.chmod(folder / "a.txt", 0o600)
    os.utime(folder / "a.txt", (1, 2))
    status = os.stat(folder / "a.txt")
    return [sorted(glob.glob("copy/*")), (folder / "soft").read_text(), status.st_nlink, status.st_mtime, oct(status.st_mode), os.path.getsize("/tmp/all.zip") > 100]
