import json
import logging  # noqa: F401


def main():
    return [json.OWN, json.__file__]
