import os


def main():
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"from the child")
        os._exit(5)
    os.close(write)
    text = os.read(read, 100).decode()
    _, status = os.waitpid(child, 0)
    try:
        os.wait()
    except ChildProcessError as error:
        print("no more children:", error.strerror)
    return [text, os.waitstatus_to_exitcode(status)]
