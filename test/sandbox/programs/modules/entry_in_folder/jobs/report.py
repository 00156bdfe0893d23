import sys

from lines import text


def main():
    return [text(), __name__, __file__, sys.path[0], sys.argv]
