import atexit


@atexit.register
def first():
    print("first registered, last called")


@atexit.register
def second():
    print("second registered")
    raise ValueError("in a handler")


@atexit.register
def third():
    print("third registered")
    open("outputs/late.txt", "w").write("written at exit")
    atexit.register(print, "registered late")


def main():
    print("main")
    return 1
