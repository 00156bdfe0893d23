import sys

print("before")
quit(4)
print("after")
