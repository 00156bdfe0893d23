import sys


class Watched:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name)


top = Watched("a global")
_private = Watched("a private global")
sys.held = Watched("held by sys")
cycle = Watched("in a cycle")
cycle.itself = cycle


def main():
    inner = Watched("a local")
    print("main", inner.name)
