import json
import nowhere_to_be_found


def main():
    return json.dumps(nowhere_to_be_found)
