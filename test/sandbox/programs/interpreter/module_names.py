import sys


def main():
    own = sys.modules[__name__]
    top = sys.modules["__main__"]
    return {
        "name": __name__,
        "own": own.__dict__ is globals(),
        "globals": sorted(globals()),
        "main": sorted(vars(top)),
        "same": own is top,
    }


if __name__ == "__main__":
    print("never")
