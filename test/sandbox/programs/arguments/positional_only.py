def main(count, name="nobody", /, extra=3):
    return [count, name, extra]
