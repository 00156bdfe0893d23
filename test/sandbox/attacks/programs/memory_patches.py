"""Writes past the interpreter's back into objects that a lane has in its memory before it forks."""

import ctypes
import sys

import shop

from siege import INPUTS, finish, got

HEADER = bytes.__basicsize__ - 1
libraries = ctypes.CDLL(None)


def plant():
    ctypes.memmove(id(shop.TEXT) + HEADER, b"PLANTED", 7)
    ctypes.memmove(id(shop.PAIR) + tuple.__itemsize__ * 3, ctypes.byref(ctypes.py_object("PLANTED")), 8)
    libraries.srand(4711)
    libraries.setenv(b"PLANTED", b"1", 1)
    ctypes.pythonapi.PySys_SetObject(b"planted", ctypes.py_object(1))


def look():
    if shop.TEXT.startswith(b"PLANTED"):
        got("bytes of a package")
    if shop.PAIR[0] == "PLANTED":
        got("a tuple of a package")
    libraries.getenv.restype = ctypes.c_char_p
    if libraries.getenv(b"PLANTED"):
        got("the C library's environment")
    if hasattr(sys, "planted"):
        got("sys")


if INPUTS["plant"]:
    plant()
if INPUTS["look"]:
    look()
finish()
