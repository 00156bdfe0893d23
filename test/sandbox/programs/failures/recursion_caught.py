import sys


def dive(depth):
    try:
        return dive(depth + 1)
    except RecursionError:
        return depth


def main():
    print(sys.getrecursionlimit())
    return {"deeper": dive(0) > 900}
