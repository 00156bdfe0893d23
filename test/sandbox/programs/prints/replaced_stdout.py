import contextlib
import io
import sys

text = io.StringIO()
with contextlib.redirect_stdout(text):
    print("captured")
print("seen:", text.getvalue())
sys.stdout = open("outputs/log.txt", "w")
print("into the file")
