import numpy as np


def main():
    print(np.array([1.0]) / 0, np.geterr())
    return np.array([1, 2]) @ np.array([1, 2, 3])
