def main():
    error = ValueError("with notes")
    if hasattr(error, "add_note"):
        error.add_note("a first note")
        error.add_note("a second\nof two lines")
    raise error
