import builtins


def main():
    return {"names": sorted(dir(builtins)), "exit": repr(exit), "quit": repr(quit), "help": repr(help), "debug": __debug__}
