"""Declared inputs whose Python type is not what JSON carries."""


def convert(kind, value, work, load):
    if kind == "date":
        return load("datetime").date.fromisoformat(value)
    if kind == "datetime":
        return load("datetime").datetime.fromisoformat(normalise(value, load("re")))
    Path = load("pathlib").Path
    if kind == "file":
        return Path(work, value)
    return [Path(work, path) for path in value]


def normalise(text, re):
    """Python 3.10 reads neither a trailing Z nor fractions of other than 3 or 6 digits."""
    text = re.sub(r"[zZ]$", "+00:00", text)
    return re.sub(r"\.(\d+)", lambda match: "." + match.group(1)[:6].ljust(6, "0"), text)
