"""Work for a processor: Fibonacci numbers the slow way."""

import sys


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def main(value):
    return {"answer": str(fib(int(value)))}


if __name__ == "__main__":
    print(main(sys.argv[1])["answer"])
