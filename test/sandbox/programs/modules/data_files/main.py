"""The working folder is one tree of plain files, this execution's own, whatever one before it did with its own."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


def tree(folder):
    return sorted([str(path.relative_to(folder)), stat.filemode(path.lstat().st_mode)] for path in folder.rglob("*"))


def main():
    before = tree(HERE)
    texts = [open("data/rates.csv").read(), (HERE / "top.txt").read_text()]
    (HERE / "data/rates.csv").write_text("changed")
    (HERE / "data/new.txt").write_text("made in a folder of the commit")
    (HERE / "top.txt").unlink()
    Path("made.txt").write_text("made beside the commit's files")
    shutil.copytree(HERE, "/tmp/copy")
    shutil.rmtree("/tmp/copy/data")
    found = subprocess.check_output("find . -type f | sort", shell=True, text=True)
    return [str(HERE), os.getcwd(), before, texts, found, tree(HERE), tree(Path("/tmp/copy"))]
