import sys

print("before")
sys.exit('gave up: ünicode')
print("after")
