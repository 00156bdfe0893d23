def main():
    pass


main = 3
