def main():
    raise ValueError
