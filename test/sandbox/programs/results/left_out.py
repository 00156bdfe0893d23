"""What is no plain file is left out, and the log says so."""

import os


def main():
    os.chdir("outputs")
    open("kept", "w").close()
    os.symlink("/etc/passwd", "link")
    os.mkfifo("pipe")
    open("one", "w").close()
    os.link("one", "two")
    open(b"not-\xff-utf8", "w").close()
