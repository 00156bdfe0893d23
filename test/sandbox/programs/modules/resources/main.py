import importlib.resources
import pkgutil

import texts


def main():
    return [
        importlib.resources.files(texts).joinpath("hello.txt").read_text(),
        pkgutil.get_data("texts", "hello.txt").decode(),
        sorted(each.name for each in pkgutil.iter_modules(texts.__path__)),
    ]
