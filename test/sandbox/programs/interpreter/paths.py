import os
import sys


def main():
    return {
        "path": sys.path,
        "argv": sys.argv,
        "orig_argv_length": len(sys.orig_argv),
        "executable": sys.executable,
        "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
        "file": __file__,
        "name": __name__,
        "package": __package__,
        "loader": type(__loader__).__name__,
        "spec": str(globals().get("__spec__")),
        "cwd": os.getcwd(),
        "listed": sorted(os.listdir()),
        "meta_path": [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path],
        "path_hooks": len(sys.path_hooks),
        "platlibdir": sys.platlibdir,
        "pycache_prefix": sys.pycache_prefix,
    }
