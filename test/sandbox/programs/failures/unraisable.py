import gc


class Loud:
    def __del__(self):
        raise ValueError("in __del__")


def main():
    Loud()
    gc.collect()
    return "went on"
