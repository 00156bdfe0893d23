import contextvars
import functools
import itertools
import operator

current = contextvars.ContextVar("current", default="nobody")
calls = []


@functools.lru_cache
def slow(number):
    calls.append(number)
    return number * 2


@functools.singledispatch
def show(value):
    return "object"


@show.register
def _(value: int):
    return "int"


def main():
    results = [slow(1), slow(1), slow(2)]
    token = current.set("ada")
    inside = current.get()
    current.reset(token)
    groups = {key: list(group) for key, group in itertools.groupby("aabc", operator.itemgetter(0))}
    return [results, calls, slow.cache_info()._asdict(), inside, current.get(), show(1), show(""), groups]
