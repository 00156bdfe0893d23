def main():
    problems = []
    for name in ("a", "b"):
        try:
            open(name)
        except OSError as error:
            problems.append(error)
    if "ExceptionGroup" not in dir(__builtins__) and not hasattr(__import__("builtins"), "ExceptionGroup"):
        raise OSError("2 problems")
    raise ExceptionGroup("two problems", problems)  # noqa: F821
