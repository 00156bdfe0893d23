"""Leaves main without returning, having said that it had returned."""

from siege import finish, os


def main(lie):
    finish()
    if lie == "mode":
        os.write(3, b'{"type":"mode","mode":"script"}\n')
    os._exit(0)
