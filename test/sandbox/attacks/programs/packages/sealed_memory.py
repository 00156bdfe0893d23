"""The same with a page that nobody can write, until somebody changes that."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PAGE = libc.mmap(None, 4096, 1, 0x21, -1, 0)


def remember(text):
    if libc.mprotect(PAGE, 4096, 3) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    ctypes.memmove(PAGE, text.encode(), len(text))


def recall():
    return [ctypes.string_at(PAGE, 100).rstrip(b"\0").decode()]
