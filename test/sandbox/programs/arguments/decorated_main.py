import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        print("calling", function.__name__, args, sorted(kwargs))
        return function(*args, **kwargs)

    return wrapper


@logged
def main(count, name=None):
    return [count, name]
