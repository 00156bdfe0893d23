from collections import NotThere  # noqa


def main():
    pass
