"""Sends open files through whatever socket leads to the service."""

import array

from siege import INPUTS, finish, os, socket

held = [os.open("/dev/null", os.O_RDONLY) for _ in range(50)]
line = b'{"type":"progress","fraction":0.1,"message":"with descriptors"}\n'
sent = 0
for number in INPUTS["numbers"]:
    try:
        channel = socket.socket(fileno=os.dup(number))
        for _ in range(4):
            channel.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", held))])
            sent += len(held)
    except OSError:
        pass
print("sent", sent)
finish()
