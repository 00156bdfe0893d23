"""Keeps a page that every process that comes from this one can write."""

import mmap

shared = mmap.mmap(-1, 4096)


def remember(text):
    shared[: len(text)] = text.encode()


def recall():
    return [shared[:100].rstrip(b"\0").decode()]
