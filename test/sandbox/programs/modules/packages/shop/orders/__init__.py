from ..money import add
from .tax import RATE


def total(prices):
    return add(prices) * RATE
