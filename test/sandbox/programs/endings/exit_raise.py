import sys

print("before")
raise SystemExit(5)
print("after")
