def main(*, count, **rest):
    return [count, sorted(rest)]
