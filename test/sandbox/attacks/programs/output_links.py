"""Links to where the service might follow them, and it may be root."""

from siege import INPUTS, finish, os

os.chdir("outputs")
secret = INPUTS["folder"] + "/secret.txt"
os.symlink(secret, "absolute.txt")
os.symlink("../" * 12 + secret.lstrip("/"), "relative.txt")
os.symlink(INPUTS["folder"], "folder")
os.symlink("/proc/self/environ", "environ")
os.symlink("/proc/self/root" + secret, "through-proc")
os.symlink("absolute.txt", "link-to-link")
os.makedirs("deep")
os.symlink(secret, "deep/inner.txt")
finish()
