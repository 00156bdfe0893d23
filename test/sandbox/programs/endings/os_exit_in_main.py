import os


def main():
    os._exit(0)
