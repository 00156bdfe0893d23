"""Events without end, lines without end, and lines that are no JSON, on the descriptor where the host listens."""

from siege import INPUTS, finish, os


def say(data):
    view = memoryview(data)
    while view:
        view = view[os.write(3, view) :]


say(b'{"type":"progress","fraction":0.5,"message":"' + b"x" * 300_000 + b'"}\n')
say(b"\xff\x00\n{}\nnull\n[]\n7\n" * 100 + b"[" * 40_000 + b"\n")
say(b'{"type":"output","name":"__proto__","file":"__proto__"}\n{"__proto__":{"type":"end"},"type":"__proto__"}\n')
line = b'{"type":"progress","fraction":0.5,"message":"flood"}\n'
for _ in range(INPUTS["times"]):
    say(line * 100)
say(b"x" * (8 << 20))
finish()
