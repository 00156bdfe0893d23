def main():
    return __import__("pathlib").Path("outputs")
