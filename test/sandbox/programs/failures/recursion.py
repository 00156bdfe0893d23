def dive(depth):
    return dive(depth + 1)


def main():
    dive(0)
