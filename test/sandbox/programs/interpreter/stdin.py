import sys


def main():
    try:
        input("question? ")
    except EOFError as error:
        return [repr(sys.stdin.read()), str(error), sys.stdin.fileno(), sys.stdin.isatty()]
