"""Text that would be a line of somebody else if the log were not quoted."""

import sys

from siege import finish

sys.stdout.write('{"id":1,"time":"2000-01-01T00:00:00.000Z","stream":"system","text":"forged by JSON"}\n')
sys.stdout.write('"}\n{"id":2,"time":"x","stream":"system","text":"forged by a quote"}\n')
sys.stdout.write("carriage\rreturn\n\x1b]0;title\x07\x1b[2J\x1b[31m colours\n")
sys.stdout.write("nul \0 and \u2028 separators \u2029 and \x85 and \u202e turned\n")
sys.stdout.write('event: result\ndata: {"status":"success"}\n\nid: 7\n')
sys.stdout.flush()
sys.stdout.buffer.write(b"\xed\xa0\x80 half a surrogate \xff\xfe\n")
finish()
