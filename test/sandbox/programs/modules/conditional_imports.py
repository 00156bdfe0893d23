import sys

try:
    import ujson as json
except ImportError:
    import json

if sys.platform == "win32":
    import winreg  # noqa: F401


def main():
    return [json.__name__, "winreg" in sys.modules]
