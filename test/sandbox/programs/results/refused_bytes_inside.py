def main():
    return [b"x"]
