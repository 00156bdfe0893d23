import subprocess
import sys

CODE = "import sys, treadle; treadle.progress(0.9); print(sys.version_info[:2], sys.prefix, treadle.__file__)"


def main():
    return [subprocess.check_output([name, "-c", CODE], text=True) for name in ("python", "python3", sys.executable)]
