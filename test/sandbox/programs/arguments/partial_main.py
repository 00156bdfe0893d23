import functools


def work(factor, count):
    return factor * count


main = functools.partial(work, 7)
