import sys

print("before")
sys.exit(2.5)
print("after")
