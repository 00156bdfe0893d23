import sys

for number in range(50):
    print("out", number)
    print("err", number, file=sys.stderr)
sys.stdout.write("no newline at the end")
sys.stderr.write("nor here")
