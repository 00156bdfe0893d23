def main(count, undeclared):
    print("never reached")
