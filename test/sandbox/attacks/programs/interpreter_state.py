"""Changes everything in the interpreter that can be changed, and looks for the changes."""

import _warnings
import atexit
import builtins
import codecs
import collections
import csv
import decimal
import gc
import json
import locale
import logging
import signal
import sys
import threading
import warnings

import shop

from siege import INPUTS, finish, got, os

REAL_DUMPS = json.dumps


def plant():
    json.dumps = lambda *given, **named: "PLANTED"
    json.planted = builtins.planted = sys.planted = os.planted = shop.planted = True
    builtins.sorted = lambda *given, **named: ["PLANTED"]
    os.getpid = lambda: 4711
    collections.UserDict.planted = True
    shop.CACHE["planted"] = True
    shop.Shop.planted = True
    shop.price.__defaults__ = (4711,)
    shop.price.__code__ = (lambda amount=1: 4711).__code__
    sys.path.insert(0, "/planted")
    sys.modules["planted"] = sys
    sys.meta_path.insert(0, type("Planted", (), {"find_spec": lambda *given: None})())
    sys.path_hooks.append(lambda path: (_ for _ in ()).throw(ImportError()))
    sys.argv.append("planted")
    sys.setrecursionlimit(4711)
    sys.setswitchinterval(0.4711)
    sys.excepthook = sys.displayhook = lambda *given: None
    threading.excepthook = lambda *given: None
    threading.stack_size(4 << 20)
    gc.set_threshold(4711)
    gc.callbacks.append(lambda *given: None)
    decimal.getcontext().prec = 47
    decimal.DefaultContext.prec = 47
    warnings.filters.insert(0, ("ignore", None, Warning, None, 4711))
    codecs.register(lambda name: None if name != "planted" else codecs.lookup("utf-8"))
    csv.field_size_limit(4711)
    csv.register_dialect("planted")
    logging.getLogger().addHandler(logging.NullHandler())
    logging.addLevelName(47, "PLANTED")
    locale.setlocale(locale.LC_ALL, "C")
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    atexit.register(lambda: None)
    os.environ["PLANTED"] = "1"


def look():
    checks = {
        "a function of json": lambda: json.dumps is not REAL_DUMPS or json.dumps([1]) != "[1]",
        "an attribute": lambda: any(hasattr(each, "planted") for each in (json, builtins, sys, os, shop, collections.UserDict, shop.Shop)),
        "sorted": lambda: sorted([2, 1]) != [1, 2],
        "getpid": lambda: os.getpid() == 4711,
        "a cache of a package": lambda: "planted" in shop.CACHE,
        "a function of a package": lambda: shop.price() != 2,
        "sys.path": lambda: "/planted" in sys.path,
        "sys.modules": lambda: "planted" in sys.modules,
        "meta path": lambda: any(type(each).__name__ == "Planted" for each in sys.meta_path),
        "path hooks": lambda: len(sys.path_hooks) > 2,
        "argv": lambda: len(sys.argv) > 1,
        "recursion limit": lambda: sys.getrecursionlimit() == 4711,
        "switch interval": lambda: sys.getswitchinterval() > 0.4,
        "hooks": lambda: sys.excepthook is not sys.__excepthook__,
        "stack size": lambda: threading.stack_size() != 0,
        "collector": lambda: gc.get_threshold()[0] == 4711 or gc.callbacks,
        "decimal": lambda: decimal.getcontext().prec == 47 or decimal.DefaultContext.prec == 47,
        "warnings": lambda: any(each[4] == 4711 for each in warnings.filters) or any(each[4] == 4711 for each in _warnings.filters),
        "codec": lambda: codecs.lookup("planted"),
        "csv": lambda: csv.field_size_limit() == 4711 or "planted" in csv.list_dialects(),
        "logging": lambda: logging.getLogger().handlers or logging.getLevelName(47) == "PLANTED",
        "a signal": lambda: signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL,
        "environment": lambda: "PLANTED" in os.environ,
    }
    for what, check in checks.items():
        try:
            if check():
                got(what)
        except LookupError:
            pass


if INPUTS["plant"]:
    plant()
if INPUTS["look"]:
    look()
json.dumps = REAL_DUMPS
finish()
