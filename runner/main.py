"""The runner: the first program inside the sandbox. It prepares the interpreter, runs the user's code and says how it ended.

Nothing here guards anything: user code shares this process and can change all of it. The limits are the sandbox's,
and the host believes nothing that arrives on the control descriptor. See protocol.md.

Every import below is paid by every execution, so it keeps to built-in modules (`os` alone is 2 ms of 12); what is
needed rarely is loaded when it is needed.
"""

import builtins
import posix
import sys
from time import monotonic

RUNNER_FOLDER = __file__.rpartition("/")[0]
CONTROL_FD = int(sys.argv[1])
LIBRARY = tuple(sys.path)
DESCRIPTORS_MAX = 1 << 16
MESSAGE_CHARS_MAX = 2000
CO_VARKEYWORDS = 0x08

# How each kind of input becomes a Python value: a function of _treadle_inputs, or None where it is what JSON carries.
CONVERSIONS = {
    "string": None, "text": None, "secret": None, "select": None, "multi_select": None, "json": None,
    "number": None, "integer": None, "boolean": None,
    "date": "to_date", "datetime": "to_datetime", "file": "to_path", "file_list": "to_paths",
}

# Replacing sys.modules["__main__"] must not tear down the globals of the functions below.
_kept = sys.modules["__main__"]
loaded = {}


class ContractError(Exception):
    """The user's code and its manifest disagree, or an output cannot be saved; the message is for its author."""


NICE = 10
"""An eighth or so of what a process has that does not give way, as the shares of a cgroup are."""


def parse_json(text):
    """Importing json costs more than the rest of the runner, because of re; the C scanner alone does not."""
    try:
        import _json

        class Options:
            strict = True
            object_hook = None
            object_pairs_hook = None
            parse_float = float
            parse_int = int
            parse_constant = float
            memo = {}

        return _json.make_scanner(Options)(text, 0)[0]
    except (ImportError, AttributeError, TypeError):
        import json

        return json.loads(text)


def quote(text):
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json import dumps as encode_basestring_ascii
    return encode_basestring_ascii(text)


def tell(event, /, **facts):
    """Sends one event to the host. A host that is gone, or user code that closed the descriptor, is no failure."""
    fields = ['"type":' + quote(event)]
    fields += [quote(name) + ":" + (quote(fact) if isinstance(fact, str) else repr(fact)) for name, fact in facts.items()]
    line = memoryview(("{" + ",".join(fields) + "}\n").encode())
    try:
        while line:
            line = line[posix.write(CONTROL_FD, line) :]
    except OSError:
        pass


def read_request(descriptor):
    chunks = []
    while not chunks or not chunks[-1].endswith(b"\n"):
        chunk = posix.read(descriptor, 1 << 20)
        if not chunk:
            posix._exit(1)  # The host hung up before it asked for anything.
        chunks.append(chunk)
    return parse_json(b"".join(chunks).decode())


def offer_streams():
    """Real pipes for stdout and stderr: what the host gave us are sockets, which programs cannot reopen by /dev/stdout.
    The host opens the read ends through /proc; it answers in the request whether that worked."""
    ends = posix.pipe() + posix.pipe()
    tell("ready", stdout=ends[0], stderr=ends[2])
    return ends


def take_streams(ends, use_pipes):
    if use_pipes:
        posix.dup2(ends[1], 1)
        posix.dup2(ends[3], 2)
    # The ends of the pipes, and what the service inherited and passed on without knowing.
    posix.closerange(CONTROL_FD + 1, DESCRIPTORS_MAX)
    flush_each_line()


def flush_each_line():
    # The log is shown while it grows, so each line leaves at once, as on a terminal.
    sys.stdout.reconfigure(line_buffering=True)


def give_way():
    """Offers this process first when memory runs out, and leaves a busy processor to the service where no cgroup sees to it."""
    # A service that runs at a lower priority yet must not make this one higher: the kernel refuses that.
    posix.setpriority(posix.PRIO_PROCESS, 0, max(NICE, posix.getpriority(posix.PRIO_PROCESS, 0)))
    for name, value in (("oom_score_adj", b"1000"), ("autogroup", b"%d" % NICE)):
        try:
            with open("/proc/self/" + name, "wb") as file:
                file.write(value)
        except OSError:
            pass  # There is no /proc outside of a sandbox on some systems, and not every kernel groups by session.


def apply_limits(limits):
    """Sets the process limits, and lets the service and the machine's other programs go first."""
    import resource

    give_way()
    for name, value in limits.items():
        limit = getattr(resource, "RLIMIT_" + name, None)
        if limit is None:
            continue
        now = resource.getrlimit(limit)
        value = value if now[1] == resource.RLIM_INFINITY else min(value, now[1])
        if now != (value, value):  # Not every kernel lets a program set each of them.
            resource.setrlimit(limit, (value, value))


def write_inputs(request):
    with open(request["workDir"] + "/inputs.json", "w", encoding="utf-8") as file:
        file.write(request["inputsText"])


def show_cores():
    """Code sees the cores that it may use: a process for each core of a large machine is more than it may have."""
    cores, usable = int(posix.environ.get(b"PYTHON_CPU_COUNT", b"1")), getattr(posix, "sched_getaffinity", None)
    seen = {"cpu_count": lambda: cores}
    if usable is not None:
        seen["sched_getaffinity"] = lambda pid: set(sorted(usable(pid))[:cores])
    for module in (posix, sys.modules.get("os", posix)):  # `os` takes them from `posix` when it is imported.
        module.__dict__.update(seen)


def set_variables(variables):
    """For this process and what it starts. `os.environ` keeps its texts in `posix.environ`, also where it is loaded already."""
    for name, value in variables.items():
        name, value = name.encode(), value.encode()
        posix.putenv(name, value)
        posix.environ[name] = value


def prepare_environment(environment):
    """What `site` would have done, without its cost: exit() and friends, and the environment's packages."""
    show_cores()
    import _sitebuiltins

    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    if environment:
        packages = "%s/lib/python%d.%d/site-packages" % (environment, *sys.version_info[:2])
        if any(name.endswith(".pth") for name in posix.listdir(packages)):
            import site

            site.addsitedir(packages)
        else:
            sys.path.append(packages)
        sys.prefix = sys.exec_prefix = environment
        if posix.access(environment + "/bin/python3", posix.X_OK):
            sys.executable = environment + "/bin/python3"
    sys.path.append(RUNNER_FOLDER + "/modules")


def prepare_entry(request):
    """Points the interpreter at the user's file, as `python3 main.py` would. Answers its path."""
    sys._treadle_control = (posix.getpid(), tell)  # For the module `treadle`, in this process alone.
    sys._treadle_library = load_library
    entry = request["workDir"] + "/" + request["entrypoint"]
    sys.path.insert(0, entry.rpartition("/")[0])
    sys.argv[:] = [entry]
    return entry


def binds_main(source, code):
    """Whether the file gives itself a top-level `main`. It has to be known before the file is run: with a `main` the
    file is a module, without one it is a script, and running it twice would do its effects twice."""
    if "main" not in code.co_names:
        return False
    if any(start in b"\n" + source for start in (b"\ndef main(", b"\nasync def main(")):
        return True
    return load("_treadle_entry").binds(source, "main")  # 1 ms, so only for the unusual ways to make a name.


def make_module(name, entry):
    module = type(sys)(name)
    module.__file__ = entry
    module.__builtins__ = builtins
    module.__cached__ = None
    module.__package__ = "" if name != "__main__" else None
    module.__loader__ = sys.modules["_frozen_importlib_external"].SourceFileLoader(name, entry)
    return module


def compile_entry(path, entry):
    """The user's file at `path`, compiled as `entry`, and whether it gives itself a `main`."""
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, entry, "exec", dont_inherit=True)
    return code, binds_main(source, code)


def run_entry(request, compiled):
    """Runs the user's file; answers whether `main` was called, and what it returned. `compiled` is given in a lane, whose
    interpreter has its environment already."""
    set_variables(request["variables"])
    tell("started", at=monotonic())  # Before the environment: a `.pth` file of a package runs code there, whose time is counted.
    if compiled is None:
        prepare_environment(request["environmentDir"])
    entry = prepare_entry(request)
    code, has_main = compiled or compile_entry(entry, entry)
    has_arguments = request.get("arguments") and load("_treadle_arguments").install(request["arguments"], declared_values(request))
    # A parser is built under a script guard, or in a main of its own which that calls.
    if has_arguments or not has_main:
        tell("mode", mode="script")
        sys.modules["__main__"] = module = make_module("__main__", entry)
        exec(code, module.__dict__)
        return False, None
    tell("mode", mode="function")
    name = entry.rpartition("/")[2].partition(".")[0]
    if name in sys.stdlib_module_names or not name.isidentifier():
        name = "main"
    # As after `python3 -c "import main; main.main(…)"`: an empty __main__, and a module others can import and unpickle from.
    sys.modules["__main__"] = type(sys)("__main__")
    sys.modules[name] = module = make_module(name, entry)
    exec(code, module.__dict__)
    function = module.__dict__.get("main")
    if not callable(function):
        raise ContractError("%s has no function main(...) after it was loaded." % request["entrypoint"])
    return True, call(function, declared_values(request))


def declared_values(request):
    """Declared inputs as Python values; one that was not given is None."""
    values = {}
    for name, kind in request["kinds"].items():
        value = request["inputs"].get(name)
        if value is not None and CONVERSIONS[kind]:
            value = getattr(load("_treadle_inputs"), CONVERSIONS[kind])(value, request["workDir"], load_library)
        values[name] = value
    return values


def call(function, values):
    positional, keywords, ignored = arrange(function, values)
    if ignored:
        sys.stderr.write("treadle: main() has no parameter for the declared input%s %s\n" % ("s" * (len(ignored) > 1), ", ".join(ignored)))
    result = function(*positional, **keywords)
    if hasattr(type(result), "__await__"):

        async def wait():
            return await result

        result = load_library("asyncio").run(wait())
    return result


def arrange(function, values):
    """Positional values, keyword values, and the declared inputs main does not take."""
    if type(function) is type(arrange) and not hasattr(function, "__wrapped__"):
        code = function.__code__
        count = code.co_argcount
        names = code.co_varnames[: count + code.co_kwonlyargcount]
        with_default = set(names[count - len(function.__defaults__ or ()) : count]) | set(function.__kwdefaults__ or ())
        positional, takes_all = names[: code.co_posonlyargcount], bool(code.co_flags & CO_VARKEYWORDS)
    else:
        names, with_default, positional, takes_all = load("_treadle_entry").describe(function, load_library)
    missing = [name for name in names if name not in values and name not in with_default]
    if missing:
        wanted, declared = ", ".join(missing), ", ".join(values) or "none"
        raise ContractError("main() needs %s, and config.yaml declares no such input (declared: %s)." % (wanted, declared))
    first = []
    for name in positional:
        if name not in values:
            break
        first.append(values[name])
    keywords = {name: value for name, value in values.items() if name not in positional and (takes_all or name in names)}
    return first, keywords, [name for name in values if name not in names and not takes_all]


def load(name):
    """Imports a file of the runner, also where the commit has a module of that name, which stays what its own code gets."""
    if name not in loaded:
        theirs = sys.modules.pop(name, None)
        sys.path.insert(0, RUNNER_FOLDER)
        try:
            loaded[name] = __import__(name)
        except OSError:
            posix.close(0)  # The program used up its descriptors: standard input, which is empty, makes room for one.
            loaded[name] = __import__(name)
        finally:
            sys.path.remove(RUNNER_FOLDER)
            sys.modules.pop(name, None)
            sys.modules.update({} if theirs is None else {name: theirs})
    return loaded[name]


def load_library(name):
    return load("_treadle_library").load(name, LIBRARY)


def tell_end(code, kind, message):
    """What the process says that it used is for people: no limit and no bill is made of it."""
    import resource

    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    memory = max(own.ru_maxrss, children.ru_maxrss) << 10
    tell("end", code=code, kind=kind, message=message[:MESSAGE_CHARS_MAX], at=monotonic(), processor=processor, memory=memory)


def run_user_code(request, compiled=None):
    """Returns the process's exit code. Ends of every kind have been reported to the host by then."""
    first_process = posix.getpid()
    try:
        called, result = run_entry(request, compiled)
        if posix.getpid() != first_process:
            return 0  # A forked child that came back up to here: only its parent speaks for the execution.
        if called:
            load("_treadle_outputs").save(result, request, tell, ContractError, load_library)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            code, message = load("_treadle_entry").to_exit_code(int(stop.code)) if stop.code else 0, ""
        else:
            code, message = 1, str(stop.code)
            print(message, file=sys.stderr)
        if posix.getpid() == first_process:
            tell_end(code, "exit", message)
        return code
    except BaseException as error:
        failures = load("_treadle_failures")
        if isinstance(error, ContractError):
            sys.stderr.write("treadle: %s\n" % error)
        else:
            failures.show(error, run_entry.__code__.co_filename)
        if posix.getpid() != first_process:
            return 1
        kind, message = failures.describe(error, request, ContractError)
        tell_end(1, kind, message)
        return 1
    tell_end(0, "exit", "")
    return 0


def start():
    posix.set_inheritable(CONTROL_FD, False)
    ends = offer_streams()
    request = read_request(CONTROL_FD)
    take_streams(ends, request["pipes"])
    load("_treadle_folder").lay_out(request["workDir"], request["commitDir"])
    write_inputs(request)
    apply_limits(request["rlimits"])
    sys.exit(run_user_code(request))


if __name__ == "__main__":
    start()
