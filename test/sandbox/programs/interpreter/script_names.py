import sys

print(__name__, __file__, sorted(name for name in globals()))
print(sys.modules["__main__"].__dict__ is globals())
if __name__ == "__main__":
    print("as a script")
