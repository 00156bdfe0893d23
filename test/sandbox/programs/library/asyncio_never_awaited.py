async def work():
    pass


def main():
    work()
    return "a warning follows"
