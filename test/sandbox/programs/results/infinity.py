def main():
    return {"x": [float("-inf")]}
