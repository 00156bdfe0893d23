"""The smallest program: a word in, a word out."""

import sys


def main(value):
    return {"answer": f"Hello, {value}!"}


if __name__ == "__main__":
    print(main(sys.argv[1])["answer"])
