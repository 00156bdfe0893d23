import sys


def main():
    try:
        sys.exit("from main")
    finally:
        print("finally")
