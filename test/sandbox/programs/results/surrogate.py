def main():
    return {"json": ["\ud83d", "\x00"], "long": "x" * 100_000}
