import importlib
import sys


def main():
    before = "rates" in sys.modules
    rates = importlib.import_module("rates")
    rates.counter += 1
    again = importlib.reload(rates)
    import statistics

    return [before, again.counter, again is rates, statistics.mean([1, 2, 3])]
