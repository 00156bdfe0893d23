import array
import ctypes
import struct


def main():
    libc = ctypes.CDLL(None)
    numbers = (ctypes.c_int * 4)(3, 1, 2, 0)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
    libc.qsort(numbers, 4, ctypes.sizeof(ctypes.c_int), compare)
    return [list(numbers), struct.pack("<IH", 1, 2).hex(), array.array("d", [1, 2]).tobytes().hex(), libc.getpid()]
