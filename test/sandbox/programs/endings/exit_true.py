import sys

print("before")
sys.exit(True)
print("after")
