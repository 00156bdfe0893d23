print("main starts")
import noisy  # noqa: E402

print("main goes on")


def main():
    print("main is called", noisy.made_in_pid == __import__("os").getpid())
