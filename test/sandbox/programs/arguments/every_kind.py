"""One input of every kind; what main gets is told by type and value."""


def main(name, notes, price, count, urgent, region, tags, day, at, data, token, table, parts):
    values = dict(locals())
    for key, value in values.items():
        print(key, type(value).__name__, value)
    return {
        "types": {key: type(value).__name__ for key, value in values.items()},
        "table": table.read_text(),
        "parts": [part.read_text() for part in parts],
        "zone": str(at.tzinfo),
    }
