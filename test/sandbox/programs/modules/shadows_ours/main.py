"""Names of our own files are free for everybody."""

import _treadle_outputs
import zygote


def main():
    return [zygote.OWN, _treadle_outputs.OWN]
