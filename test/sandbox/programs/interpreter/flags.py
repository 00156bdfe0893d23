import sys


def main():
    return {
        "flags": {name: getattr(sys.flags, name) for name in dir(sys.flags) if not name.startswith(("_", "n_", "count", "index"))},
        "dont_write_bytecode": sys.dont_write_bytecode,
        "warnoptions": sys.warnoptions,
        "xoptions": sys._xoptions,
        "switch": sys.getswitchinterval(),
        "version": sys.version,
        "maxsize": sys.maxsize,
        "byteorder": sys.byteorder,
        "hash": hash(1.5),
        "int_digits": getattr(sys, "get_int_max_str_digits", int)(),
        "trace": [sys.gettrace(), sys.getprofile()],
    }
