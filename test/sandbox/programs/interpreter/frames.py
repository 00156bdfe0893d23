import inspect
import traceback


def work():
    return [frame.function for frame in inspect.stack()][:2]


def main():
    last = traceback.format_stack()[-1].splitlines()
    return [work(), last, inspect.getsource(work), inspect.getfile(work), inspect.getmodule(work).__name__]
