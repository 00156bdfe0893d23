import os

print("before", flush=True)
os.execv("/bin/sh", ["sh", "-c", "echo from the shell; exit 8"])
