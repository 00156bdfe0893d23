def main():
    return {"other": 1}
