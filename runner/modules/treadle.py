"""What user code may call: `treadle.progress(0.4, "parsing")`. Outside of Treadle it does nothing, so code runs anywhere."""

import os
import sys

__all__ = ["progress"]


def progress(fraction, message=""):
    """Says how far the work is, from 0 to 1, with a short text. Never fails and never waits."""
    process, descriptor = getattr(sys, "_treadle_control", (None, None))
    if process != os.getpid():
        return  # Not on Treadle, or in a child, where that descriptor may be any file.
    try:
        import json

        fraction = min(1.0, max(0.0, float(fraction)))
        line = json.dumps({"type": "progress", "fraction": fraction, "message": str(message)[:200]}, allow_nan=False)
        os.write(descriptor, line.encode() + b"\n")
    except (OSError, ValueError, TypeError):
        pass
