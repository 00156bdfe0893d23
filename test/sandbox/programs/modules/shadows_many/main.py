"""The runner takes a date and a file to be Python's own, whatever is beside this file."""


def main(day, table):
    import re
    import shutil

    return {"own": [re.OWN, shutil.OWN], "given": [type(day).__module__, str(table)], "copy": table}
