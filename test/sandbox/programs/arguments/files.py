"""Uploads: names with spaces and letters of other scripts, the same name twice, read-only."""

import os


def main(first, second, many):
    def refuse(act):
        try:
            act()
        except OSError as error:
            return error.strerror

    paths = [first, second, *many]
    return {
        "paths": [str(path) for path in paths],
        "texts": [path.read_text() for path in paths],
        "listed": sorted(os.listdir("inputs")),
        "writing": refuse(lambda: first.write_text("x")),
        "adding": refuse(lambda: open("inputs/new", "w")),
        "removing": refuse(first.unlink),
        "modes": [oct(os.stat(path).st_mode & 0o777) for path in (first, second)],
        "copy": first,
    }
