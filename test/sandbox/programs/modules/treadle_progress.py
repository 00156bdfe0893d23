import os

import treadle


def main():
    treadle.progress(0.25, "a quarter")
    if os.fork() == 0:
        treadle.progress(0.9, "not heard from a child")
        os._exit(0)
    os.wait()
    treadle.progress(7, "clipped")
    treadle.progress("no number")
    return [treadle.__file__.rpartition("/")[2], treadle.__all__]
