import sys

print("last words")
sys.stdout.close()
