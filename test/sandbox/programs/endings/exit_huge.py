import sys

print("before")
sys.exit(10**100)
print("after")
