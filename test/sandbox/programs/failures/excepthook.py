import sys


def hook(kind, error, trace):
    print("the hook saw", kind.__name__, error, trace.tb_frame.f_code.co_name)


sys.excepthook = hook
raise ValueError("for the hook")
