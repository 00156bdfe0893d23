import sys

print("before")
sys.exit(259)
print("after")
