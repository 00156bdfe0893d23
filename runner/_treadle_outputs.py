"""Turns what main() returned into files of the outputs folder, and tells the host which output each file is."""

import posix
import sys

NAME_CHARS_MAX = 200
INFINITE = (float("inf"), float("-inf"))


def save(result, request, tell, contract_error, load):
    """One output per key of a dict; anything else is the output `result`; None is none."""
    if result is None:
        return
    outputs = result if isinstance(result, dict) else {"result": result}
    saver = Saver(request, tell, contract_error, load)
    if len(outputs) > request["outputFilesMax"]:
        raise contract_error(
            "main() returned %d outputs; at most %d are allowed." % (len(outputs), request["outputFilesMax"])
        )
    for name, value in outputs.items():
        saver.save(name, value)


class Saver:
    def __init__(self, request, tell, contract_error, load):
        self.folder = request["workDir"] + "/outputs"
        self.tell = tell
        self.error = contract_error
        self.load = load
        self.missing = 0

    def save(self, name, value):
        name = self.check_name(name)
        if is_path(value):
            file_name = self.take_file(name, value)
        elif isinstance(value, (list, tuple)) and value and all(is_path(item) for item in value):
            raise self.error(
                'Output "%s" is a list of paths. Return one key for each file, or leave the files in outputs/.' % name
            )
        else:
            extension, write = self.choose_format(name, value)
            file_name = self.free_name(name + extension)
            write(self.folder + "/" + file_name)
        self.tell("output", name=name, file=file_name)

    def check_name(self, name):
        if not isinstance(name, str):
            raise self.error("An output's name must be a string, not %s (%r)." % (type(name).__name__, name))
        bad = not name or len(name) > NAME_CHARS_MAX or name.strip(".") == "" or "/" in name or "\\" in name
        if bad or any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in name):
            raise self.error(
                "%r cannot be an output's name: 1 to %d characters, without slashes and control characters."
                % (name[:NAME_CHARS_MAX], NAME_CHARS_MAX)
            )
        return name

    def free_name(self, wanted):
        """`wanted`, or `wanted (2)` and so on where a file of that name was left in outputs/ already."""
        stem, dot, extension = wanted.rpartition(".")
        name, count = wanted, 1
        while exists(self.folder + "/" + name):
            count += 1
            name = "%s (%d).%s" % (stem, count, extension) if dot else "%s (%d)" % (wanted, count)
        return name

    def take_file(self, name, value):
        """The file itself when it lies in outputs/ already, else a copy of it there."""
        os = self.load("os")
        path = os.path.abspath(value)
        if not os.path.exists(path):
            raise self.error('Output "%s": there is no file %s.' % (name, value))
        if not os.path.isfile(path):
            hint = " Return its files, or an archive of it." if os.path.isdir(path) else ""
            raise self.error('Output "%s": %s is not a file.%s' % (name, value, hint))
        inside = os.path.relpath(os.path.realpath(os.path.dirname(path)), os.path.realpath(self.folder))
        if inside.split(os.sep)[0] != os.pardir and not os.path.islink(path):
            return os.path.normpath(os.path.join(inside, os.path.basename(path)))
        file_name = self.free_name(os.path.basename(path))
        self.load("shutil").copyfile(path, os.path.join(self.folder, file_name))
        return file_name

    def choose_format(self, name, value):
        """The file's extension, and a function that writes it."""
        if isinstance(value, str):
            return ".txt", writing(lambda: value.encode("utf-8"))
        if isinstance(value, (bytes, bytearray, memoryview)):
            return ".bin", writing(lambda: value)
        kind = type(value)
        bases = {"%s.%s" % (base.__module__.split(".")[0], base.__name__) for base in kind.__mro__}
        if bases & {"pandas.DataFrame", "pandas.Series"}:
            # A plain 0, 1, 2 … index is no data; one that was set is.
            with_index = type(value.index).__name__ != "RangeIndex" or value.index.name is not None
            return ".csv", lambda path: value.to_csv(path, index=with_index)
        if "polars.DataFrame" in bases:
            return ".csv", value.write_csv
        if "matplotlib.Figure" in bases:
            return ".png", lambda path: value.savefig(path, format="png")
        if "PIL.Image" in bases:
            return ".png", lambda path: value.save(path, format="PNG")
        return ".json", writing(lambda: self.to_json(name, value))

    def to_json(self, name, value):
        self.missing = 0
        try:
            text = encode(self.fit(value), self.convert)
        except RecursionError as error:
            raise self.error('Output "%s" is nested too deeply for JSON, or contains itself.' % name) from error
        except (TypeError, ValueError) as error:
            raise self.error('Output "%s" cannot be saved as JSON: %s.' % (name, error)) from error
        if self.missing:
            counted = "1 value is" if self.missing == 1 else "%d values are" % self.missing
            sys.stderr.write('treadle: Output "%s": %s null, because JSON has no NaN, Infinity, NaT or NA.\n' % (name, counted))
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            return encode(self.fit(value), self.convert, ascii_only=True).encode()

    def fit(self, value):
        """Without numbers that JSON lacks, and with texts for keys such as dates or tuples; all else is passed on untouched."""
        if isinstance(value, dict):
            return {key if type(key) is str else self.fit_key(key): self.fit(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fit(item) for item in value]
        return self.without_missing(value) if isinstance(value, float) else value

    def convert(self, value):
        """For what the encoder does not know."""
        value = self.without_missing(value)
        return value if value is None else self.fit(to_plain(value))

    def fit_key(self, key):
        key = self.without_missing(key)
        if isinstance(key, (str, int, float, bool, type(None))):
            return key
        plain = to_plain(key) if not isinstance(key, tuple) else ", ".join(str(part) for part in key)
        return plain if isinstance(plain, (str, int, float, bool)) else str(key)

    def without_missing(self, value):
        if is_missing(value):
            self.missing += 1
            return None
        return value


def exists(path):
    try:
        posix.lstat(path)
    except FileNotFoundError:
        return False
    return True


def encode(value, convert=None, ascii_only=False):
    """json.dumps without NaN. The C encoder alone, because importing json costs a tenth of a short execution."""
    try:
        import _json

        quote = _json.encode_basestring_ascii if ascii_only else _json.encode_basestring
        make = _json.make_encoder({}, convert, quote, None, ": ", ", ", False, False, False)
    except (ImportError, AttributeError):
        import json

        return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, default=convert)
    return "".join(make(value, 0))


def writing(make_bytes):
    def write(path):
        content = make_bytes()
        with open(path, "wb") as file:
            file.write(content)

    return write


def is_path(value):
    return any(base.__name__ == "PurePath" and base.__module__.partition(".")[0] == "pathlib" for base in type(value).__mro__)


def is_missing(value):
    """NaN, Infinity, and what pandas has in place of a time or a value that is not there."""
    if isinstance(value, float):
        return value != value or value in INFINITE
    kind = type(value)
    if kind.__name__ == "Decimal" and kind.__module__ in ("decimal", "_pydecimal"):
        return not value.is_finite()
    return kind.__name__ in ("NaTType", "NAType") and kind.__module__.partition(".")[0] == "pandas"


def to_plain(value):
    """For what json itself does not know. Decimal becomes text, because a float would change the amount."""
    kind = type(value)
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    module = kind.__module__.split(".")[0]
    names = {base.__name__ for base in kind.__mro__}
    if names & {"date", "time"} and hasattr(value, "isoformat"):
        return value.isoformat()
    if "timedelta" in names and hasattr(value, "total_seconds"):
        return value.total_seconds()
    if names & {"Decimal", "UUID", "PurePath", "Fraction"}:
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("bytes inside a structure; return them as an output of their own, or decode them")
    if "Enum" in names:
        return value.value
    if hasattr(kind, "__dataclass_fields__"):
        return {field: getattr(value, field) for field in kind.__dataclass_fields__}
    if callable(getattr(kind, "model_dump", None)):
        return value.model_dump(mode="json")
    if module in ("pandas", "polars") and callable(getattr(value, "to_dict", None)):
        return value.to_dict()
    for convert in ("tolist", "item"):
        if callable(getattr(kind, convert, None)):
            return getattr(value, convert)()
    if isinstance(value, range) or "Mapping" in names or "KeysView" in names or "ValuesView" in names:
        return dict(value) if "Mapping" in names else list(value)
    raise TypeError("%s.%s is not a kind of value JSON knows" % (kind.__module__, kind.__qualname__))
