"""Declared, and none of them given."""


def main(name, notes, price, count, urgent, region, tags, day, at, data, token, table, parts):
    return {"given": [key for key, value in locals().items() if value is not None], "file": open("inputs.json").read()}
