def main():
    raise ValueError("first line\nsecond line\n\ttabbed and \x1b[31mred")
