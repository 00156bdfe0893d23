"""Names for outputs that nobody could have given by main: paths, control characters, other people's files."""

from siege import finish, tell

open("outputs/mine.txt", "w").close()
open("outputs/yours.txt", "w").close()
for name in ("../../etc/passwd", "a\0b", "\ud800", "line\nbreak", "\x1b[2J", "x" * 20_000, "", "..", "a/b"):
    tell({"type": "output", "name": name, "file": "mine.txt"})
    tell({"type": "output", "name": "x" + name, "file": "yours.txt"})
for file in ("../../../../etc/passwd", "/etc/passwd", "nothing", "../inputs.json"):
    tell({"type": "output", "name": "stolen", "file": file})
finish()
