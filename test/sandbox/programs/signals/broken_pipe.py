import os

read, write = os.pipe()
os.close(read)
os.write(write, b"x")
