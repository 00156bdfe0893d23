def main(count):
    return count
