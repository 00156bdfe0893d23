import os
import tempfile


def main():
    with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
        names = [len(os.path.basename(file.name)), len(os.path.basename(folder)), os.path.dirname(file.name)]
        mode = oct(os.stat(file.name).st_mode)
    return [*names, mode, tempfile.gettempdir(), os.listdir("/tmp")]
