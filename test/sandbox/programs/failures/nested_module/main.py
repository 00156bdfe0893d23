from parts.deep import work


def main():
    return work.start()
