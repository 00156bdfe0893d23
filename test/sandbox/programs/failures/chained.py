def inner():
    try:
        {}["missing"]
    except KeyError as error:
        raise ValueError("no such thing") from error


def main():
    try:
        inner()
    except ValueError:
        raise RuntimeError("while handling")
