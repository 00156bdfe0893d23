"""What a zygote imports for a commit, and whether forks of it would behave as a fresh interpreter does."""

import _ast
import gc
import posix
import stat
import sys

PARSED_FILES_MAX = 200
LEFTOVER_BYTES_MAX = 1 << 20
LEFTOVER_FILES_MAX = 200
"""Modules that do something when they are imported."""
NOT_AHEAD = {"antigravity", "this", "__main__", "__future__", "idlelib", "turtle", "tkinter", "treadle"}


class Unfit(Exception):
    """This commit is not for a lane; the message says why."""


class Watched(dict):
    """What `os.environ` keeps its texts in. Notes which of some names are asked for, all of them where it is listed."""

    def __init__(self, texts, names):
        super().__init__(texts)
        self.names = names
        self.asked = []

    def __getitem__(self, key):
        if key in self.names:
            self.asked.append(key)
        return super().__getitem__(key)

    def __contains__(self, key):
        if key in self.names:
            self.asked.append(key)
        return super().__contains__(key)

    def __iter__(self):
        self.asked += self.names
        return super().__iter__()


class watch_environment:
    """A package that asks for a variable of a run while it is imported would keep that it was not there."""

    def __init__(self, names):
        self.names = [name.encode() for name in names]

    def __enter__(self):
        if self.names:
            self.plain = posix.environ
            self.watched = Watched(self.plain, self.names)
            keep_texts(self.plain, self.watched)

    def __exit__(self, *error):
        if not self.names:
            return
        self.plain.clear()
        self.plain.update(dict.items(self.watched))
        keep_texts(self.watched, self.plain)
        if self.watched.asked and error[0] is None:
            raise Unfit("A package asks for %s when it is imported." % self.watched.asked[0].decode())


def keep_texts(before, after):
    posix.environ = after
    library = sys.modules.get("os")
    for kept in (getattr(library, "environ", None), getattr(library, "environb", None)):
        if getattr(kept, "_data", None) is before:
            kept._data = after


def import_for(request, baseline):
    entry_dir = (request["commitDir"] + "/" + request["entrypoint"]).rpartition("/")[0]
    local = local_modules(entry_dir)
    flush_streams()
    for name, wanted in find_imports(entry_dir, request["entrypoint"].rpartition("/")[2], local):
        if name.partition(".")[0] not in NOT_AHEAD:
            import_one(name, wanted)
    flush_streams()
    own_entry = request["entrypoint"].rpartition("/")[2].partition(".")[0]
    hidden = sorted(name for name in local if name != own_entry and name in sys.modules and name not in baseline)
    if hidden:
        raise Unfit("The commit has a module named %s, as the interpreter or a package has." % hidden[0])


def import_one(name, wanted):
    try:
        __import__(name, fromlist=wanted)
    except ImportError:
        pass  # The execution will find the same, and say so where the author looks.
    except Exception as error:
        raise Unfit("Importing %s raised %s." % (name, type(error).__name__)) from error
    except BaseException as error:
        raise Unfit("Importing %s ended the interpreter." % name) from error
    if count_threads() != 1:
        raise Unfit("Importing %s starts threads, which a fork does not have." % name)


def local_modules(folder):
    """Names that `import` finds in the commit before it looks anywhere else."""
    found = {}
    for name in posix.listdir(folder):
        path = folder + "/" + name
        if name.endswith(".py"):
            found[name[:-3]] = path
        elif stat.S_ISDIR(posix.stat(path).st_mode):
            found.setdefault(name, path)
        elif name.endswith(".so"):
            found[name.partition(".")[0]] = None
    return found


def find_imports(folder, entry, local):
    """(module, names wanted of it) of the imports that run when the commit is loaded, those of its own modules included."""
    found = {}
    waiting = [folder + "/" + entry]
    seen = set()
    while waiting and len(seen) < PARSED_FILES_MAX:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for statement in imports_of(path):
            if isinstance(statement, _ast.Import):
                targets = [(alias.name, ()) for alias in statement.names]
            elif statement.level:
                waiting += relative_files(path, statement)
                continue
            else:
                targets = [(statement.module, tuple(alias.name for alias in statement.names if alias.name != "*"))]
            for name, wanted in targets:
                if name.partition(".")[0] in local:
                    waiting += module_files(folder, name, wanted)
                else:
                    found[name] = found.get(name, ()) + wanted
    return list(found.items())


def imports_of(path):
    try:
        with open(path, "rb") as file:
            tree = compile(file.read(), path, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # The execution meets the same error.
    waiting = list(tree.body)
    while waiting:
        statement = waiting.pop(0)
        if isinstance(statement, (_ast.Import, _ast.ImportFrom)):
            yield statement
        elif isinstance(statement, _ast.Try):
            waiting = statement.body + waiting
        elif isinstance(statement, _ast.With):
            waiting = statement.body + waiting


def module_files(folder, name, wanted):
    parts = name.split(".")
    paths = []
    for count in range(1, len(parts) + 1):
        paths += files_of(folder + "/" + "/".join(parts[:count]))
    for one in wanted:
        paths += files_of(folder + "/" + "/".join(parts) + "/" + one)
    return paths


def relative_files(path, statement):
    folder = path.rpartition("/")[0]
    for _ in range(statement.level - 1):
        folder = folder.rpartition("/")[0]
    wanted = [alias.name for alias in statement.names]
    if statement.module:
        return module_files(folder, statement.module, wanted)
    return [file for name in wanted for file in files_of(folder + "/" + name)]


def files_of(base):
    return [path for path in (base + ".py", base + "/__init__.py") if exists(path)]


def exists(path):
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def compile_entry(runner, path, entry):
    try:
        return runner.compile_entry(path, entry)
    except BaseException as error:
        raise Unfit("The entrypoint does not compile: %s." % type(error).__name__) from error


def check_fitness():
    if count_threads() != 1:
        raise Unfit("A package starts threads when it is imported, which a fork does not have.")
    for kind, known in generator_kinds():
        for thing in gc.get_objects():
            if isinstance(thing, kind) and not any(thing is one for one in known):
                raise Unfit("A package keeps a %s that it made when it was imported." % kind.__qualname__)


def generator_kinds():
    """Random generators of modules, which every fork would continue from the same state, and those that are reseeded."""
    random = sys.modules.get("random")
    if random is not None:
        yield random.Random, [random._inst] + [one for one in gc.get_objects() if isinstance(one, random.SystemRandom)]
    legacy = sys.modules.get("numpy.random.mtrand")
    if legacy is not None:
        yield legacy.RandomState, [legacy._rand]
    newer = sys.modules.get("numpy.random._generator")
    if newer is not None:
        yield newer.Generator, []


def count_threads():
    return len(posix.listdir("/proc/self/task"))


def collect_leftovers(folders):
    """Files that packages made in the scratch folders while they were imported. Each execution finds copies of them."""
    left = []
    total = 0
    waiting = list(folders)
    while waiting:
        folder = waiting.pop(0)
        for name in sorted(posix.listdir(folder)):
            path = folder + "/" + name
            status = posix.lstat(path)
            content = None
            if stat.S_ISDIR(status.st_mode):
                waiting.append(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read(LEFTOVER_BYTES_MAX + 1)
                total += len(content)
            else:
                raise Unfit("Importing the packages made %s, which is no plain file." % path)
            left.append((path, stat.S_IMODE(status.st_mode), content))
            if len(left) > LEFTOVER_FILES_MAX or total > LEFTOVER_BYTES_MAX:
                raise Unfit("Importing the packages leaves too many files in the scratch folders.")
    return left


def settle_memory():
    """Moves everything that lives now out of the collector's sight, so that its passes in a fork touch none of these pages."""
    gc.collect()
    gc.freeze()


def flush_streams():
    sys.stdout.flush()
    sys.stderr.flush()
