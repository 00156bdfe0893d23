import sys

print("before")
sys.exit((1, 2))
print("after")
