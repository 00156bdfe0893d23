"""Declared inputs whose Python type is not what JSON carries. `CONVERSIONS` of main.py has the function of each kind."""


def to_date(value, work, load):
    return load("datetime").date.fromisoformat(value)


def to_datetime(value, work, load):
    return load("datetime").datetime.fromisoformat(normalise(value, load("re")))


def to_path(value, work, load):
    return load("pathlib").Path(work, value)


def to_paths(value, work, load):
    Path = load("pathlib").Path
    return [Path(work, path) for path in value]


def normalise(text, re):
    """Python 3.10 reads neither a trailing Z nor fractions of other than 3 or 6 digits."""
    text = re.sub(r"[zZ]$", "+00:00", text)
    return re.sub(r"\.(\d+)", lambda match: "." + match.group(1)[:6].ljust(6, "0"), text)
