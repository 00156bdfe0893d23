import runpy
import sys
import zipfile


def main():
    with zipfile.ZipFile("/tmp/lib.zip", "w") as archive:
        archive.writestr("zipped.py", "VALUE = 5\n")
    sys.path.insert(0, "/tmp/lib.zip")
    import zipped

    open("/tmp/tool.py", "w").write("name = __name__\nresult = 6 * 7\n")
    names = runpy.run_path("/tmp/tool.py", run_name="tool")
    return [zipped.VALUE, names["result"], names["name"]]
