class main:
    """An object that is called is as good as a function; what it is becomes the result."""

    def __init__(self, count):
        self.count = count
        print("made with", count)

    def __await__(self):
        yield from ()
        return {"count": self.count}
