print("before")
import parts.broken  # noqa


def main():
    pass
