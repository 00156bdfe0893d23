def main():
    value = {}
    value["self"] = value
    return value
