import os
import sys

sys.stdout.write("buffered, without an end")
print("a line")
os._exit(6)
