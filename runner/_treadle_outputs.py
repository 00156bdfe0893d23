"""Turns what main() returned into files of the outputs folder, and tells the host which output each file is."""

import posix
import sys

NAME_CHARS_MAX = 200


def save(result, request, tell, contract_error):
    """One output per key of a dict; anything else is the output `result`; None is none."""
    if result is None:
        return
    outputs = result if isinstance(result, dict) else {"result": result}
    saver = Saver(request, tell, contract_error)
    if len(outputs) > request["outputFilesMax"]:
        raise contract_error(
            "main() returned %d outputs; at most %d are allowed." % (len(outputs), request["outputFilesMax"])
        )
    for name, value in outputs.items():
        saver.save(name, value)


class Saver:
    def __init__(self, request, tell, contract_error):
        self.folder = request["workDir"] + "/outputs"
        self.tell = tell
        self.error = contract_error

    def save(self, name, value):
        name = self.check_name(name)
        path_type = getattr(sys.modules.get("pathlib"), "PurePath", None)
        if path_type and isinstance(value, path_type):
            file_name = self.take_file(name, value)
        elif path_type and isinstance(value, (list, tuple)) and value and all(isinstance(item, path_type) for item in value):
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
        import os
        import shutil

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
        shutil.copyfile(path, os.path.join(self.folder, file_name))
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
            # A plain 0, 1, 2 … index is no data; one that somebody set is.
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
        try:
            text = encode(with_text_keys(value))
        except RecursionError as error:
            raise self.error('Output "%s" is nested too deeply for JSON, or contains itself.' % name) from error
        except (TypeError, ValueError) as error:
            problem = "it holds NaN or Infinity; replace them, for example by None"
            if "JSON compliant" not in str(error):
                problem = str(error)
            raise self.error('Output "%s" cannot be saved as JSON: %s.' % (name, problem)) from error
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            return encode(with_text_keys(value), ascii_only=True).encode()


def exists(path):
    try:
        posix.lstat(path)
    except FileNotFoundError:
        return False
    return True


def encode(value, ascii_only=False):
    """json.dumps without NaN. The C encoder alone, because importing json costs a tenth of a short execution."""
    json = sys.modules.get("json")
    if json is None:
        try:
            import _json

            quote = _json.encode_basestring_ascii if ascii_only else _json.encode_basestring
            make = _json.make_encoder({}, to_plain, quote, None, ": ", ", ", False, False, False)
            return "".join(make(value, 0))
        except (ImportError, AttributeError):
            pass
        import json
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, default=to_plain)


def writing(make_bytes):
    def write(path):
        content = make_bytes()
        with open(path, "wb") as file:
            file.write(content)

    return write


def with_text_keys(value):
    """Dictionaries with keys such as dates or tuples, made fit for JSON; the usual ones are passed on untouched."""
    if isinstance(value, dict):
        keys_fit = all(isinstance(key, (str, int, float, bool, type(None))) for key in value)
        return {key if keys_fit else as_key(key): with_text_keys(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_text_keys(item) for item in value]
    return value


def as_key(key):
    if isinstance(key, (str, int, float, bool, type(None))):
        return key
    plain = to_plain(key) if not isinstance(key, tuple) else ", ".join(str(part) for part in key)
    return plain if isinstance(plain, (str, int, float, bool)) else str(key)


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
