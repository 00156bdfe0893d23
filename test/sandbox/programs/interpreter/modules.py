"""Modules of ours must not be there for the taking, and a module that was not imported must not be found by accident."""

import sys


def main():
    names = ("numpy", "pandas", "main", "__main__", "site", "sitecustomize", "usercustomize", "_treadle_runner")
    return {
        "loaded": [name for name in names if name in sys.modules],
        "ours": sorted(name for name in sys.modules if "treadle" in name and not name.startswith("_treadle")),
        "attribute": hasattr(__import__("importlib"), "resources"),
    }
