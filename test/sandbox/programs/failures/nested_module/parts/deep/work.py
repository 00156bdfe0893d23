def start():
    return [check(number) for number in (1, 0)]


def check(number):
    assert number, f"{number} is nothing"
