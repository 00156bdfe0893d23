import numpy as np


def main():
    numbers = np.arange(12).reshape(3, 4)
    np.random.seed(1)
    generator = np.random.default_rng(7)
    return {
        "sum": numbers.sum(axis=0),
        "scalar": np.float64(1.5),
        "seeded": np.random.rand(3).round(6),
        "generator": generator.integers(0, 100, 5),
        "solved": np.linalg.solve(np.array([[2.0, 1], [1, 3]]), np.array([3.0, 5])).round(9),
        "big": float((np.ones((200, 200)) @ np.ones((200, 200))).sum()),
        "version": np.__version__,
    }
