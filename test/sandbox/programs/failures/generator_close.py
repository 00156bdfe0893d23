def numbers():
    try:
        yield 1
    finally:
        print("closing")
        raise OSError("while closing")


def main():
    for number in numbers():
        raise KeyError(number)
