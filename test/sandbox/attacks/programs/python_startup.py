"""Files and variables that an interpreter would run before anything else."""

import site
import sys

from siege import INPUTS, finish, got, os

OURS = {"PYTHONPATH": "/runner/modules"}
folder = "/tmp/.local/lib/python%d.%d/site-packages" % sys.version_info[:2]
if INPUTS["plant"]:
    os.makedirs(folder, exist_ok=True)
    for name in ("usercustomize", "sitecustomize"):
        with open(f"{folder}/{name}.py", "w") as file:
            file.write("import sys; sys.planted = __file__\n")
    with open(folder + "/evil.pth", "w") as file:
        file.write("import sys; sys.planted = 'pth'\n")
if INPUTS["look"]:
    if hasattr(sys, "planted"):
        got("code before ours", sys.planted)
    if folder in sys.path or site.ENABLE_USER_SITE:
        got("user site", sys.path)
    for name in ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_PRELOAD", "NODE_OPTIONS"):
        if os.environ.get(name, OURS.get(name)) != OURS.get(name):
            got("variable", name)
finish()
