"""Says that all went well, and ends with a code that says it did not."""

from siege import finish, os, tell

for end in ({"kind": "exit", "code": 0, "message": ""}, {"kind": "exit", "code": 9, "message": ""}):
    tell({"type": "end", **end})
os.write(3, b'{"type":"mode","mode":"script"}\n{"type":"end","kind":"exit","code":0}\n')
finish()
os._exit(9)
