def main():
    return main
