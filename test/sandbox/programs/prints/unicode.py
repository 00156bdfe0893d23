import sys

print("grüße 你好 🙂 \u202e abc \u0000 nul \x1b[31mred\x1b[0m \u2028 sep")
print("\ud800".encode("utf-8", "surrogatepass"))
try:
    print("\ud800")
except UnicodeEncodeError as error:
    print("refused:", error)
sys.stderr.write("\ud800 on stderr\n")
sys.stdout.buffer.write(b"\xff\xfe raw\n")
