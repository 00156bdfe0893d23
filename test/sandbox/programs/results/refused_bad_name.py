def main():
    return {"a/b": 1}
