"""Names that end a line, leave a folder, colour a terminal or are no text."""

from siege import OUTPUTS, finish, os

for name in (b"line\nbreak", b"carriage\rreturn", b"..\\..\\windows", b"C:\\file", b"\xff\xfe", b"\x1b[2Jclear", b"tab\there", b"\x7f", "\u202etxt.exe".encode(), b"n" * 255, b" ", b"...", b"a\"b", b"%2e%2e%2f"):
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=OUTPUTS))
finish()
