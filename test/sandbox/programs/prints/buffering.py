import io
import sys

for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.name, stream.encoding, stream.errors, stream.newlines, stream.line_buffering, stream.isatty(), type(stream.buffer).__name__)
print(sys.stdout.write_through, io.DEFAULT_BUFFER_SIZE, sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr)
