import warnings


def old():
    warnings.warn("old() is old", DeprecationWarning, stacklevel=2)
    warnings.warn("careful")
    warnings.warn("later", FutureWarning)


def main():
    old()
    old()
    return [[each[0], each[2].__name__] for each in warnings.filters]
