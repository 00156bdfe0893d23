def main():
    return object()
