import sys

print("before")
sys.exit(-1)
print("after")
