import sys

sys.stdout.write("one\r\ntwo\rthree\n\n\nfour\x0bfive\x0csix\x85seven\n")
print("progress 1", end="\r")
print("progress 2", end="\r")
print()
