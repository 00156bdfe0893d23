import registry


def main():
    registry.note("main")
    return "ok"
