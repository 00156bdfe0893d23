import locale
import sys


def main():
    return {
        "locale": locale.getlocale(),
        "set": locale.setlocale(locale.LC_ALL),
        "preferred": [locale.getpreferredencoding(False), locale.getpreferredencoding()],
        "filesystem": [sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()],
        "default": sys.getdefaultencoding(),
        "number": locale.localeconv()["decimal_point"],
        "open": open("inputs.json").encoding,
        "utf8": sys.flags.utf8_mode,
    }
