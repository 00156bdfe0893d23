def main():
    return bytearray(1 << 60)
