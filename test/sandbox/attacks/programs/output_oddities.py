"""What is no plain file of its own: a pipe, a socket, a file with two names, a tree without a ground."""

from siege import finish, os, socket

os.chdir("outputs")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
with open("one-name", "w") as file:
    file.write("shared")
os.link("one-name", "another-name")
deep = "d"
for _ in range(40):
    os.mkdir(deep)
    deep += "/d"
with open(deep[:-2] + "/hidden", "w") as file:
    file.write("deep")
finish()
