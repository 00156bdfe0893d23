import os
import sys

made_in_pid = os.getpid()
print("noisy on stdout")
print("noisy on stderr", file=sys.stderr)
