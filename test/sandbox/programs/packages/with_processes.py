"""Packages with native threads, in children of every sort."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np


def work(size):
    return float(np.ones((size, size)).dot(np.ones((size, size))).trace())


def main():
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(work, [10, 100]))
