import gzip

plain = open("outputs/plain.txt", "w")
plain.write("flushed at the end")
packed = gzip.open("/tmp/packed.gz", "wb")
packed.write(b"x")
print("left open")
