import os
from pathlib import Path

HERE = Path(__file__).parent


def main():
    Path("data/new.txt")
    try:
        (HERE / "data/rates.csv").write_text("x")
    except OSError as error:
        print("read-only:", error.strerror)
    Path("made.txt").write_text("made beside the commit's files")
    return [open("data/rates.csv").read(), (HERE / "top.txt").read_text(), sorted(os.listdir()), str(HERE)]
