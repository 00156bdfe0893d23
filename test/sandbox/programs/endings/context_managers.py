import contextlib
import tempfile


@contextlib.contextmanager
def step(name):
    print("enter", name)
    try:
        yield name
    finally:
        print("leave", name)


def main():
    with contextlib.ExitStack() as stack:
        for name in "abc":
            stack.enter_context(step(name))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        open(folder + "/x", "w").close()
        return {"inside": True}
