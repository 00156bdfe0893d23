"""Puts something else where the host looks for outputs."""

import shutil

from siege import attempt, finish, os

HERE = os.getcwd()
attempt("remove", lambda: os.rmdir(HERE + "/outputs"))
attempt("remove whole", lambda: shutil.rmtree(HERE + "/outputs") or os.stat(HERE + "/outputs"))
attempt("rename", lambda: os.rename(HERE + "/outputs", HERE + "/elsewhere"))
attempt("exchange", lambda: os.replace(HERE + "/inputs.json", HERE + "/outputs"))
attempt("link", lambda: os.symlink("/etc", HERE + "/outputs"))
finish()
