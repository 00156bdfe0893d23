/**
 * Compiles sources, and runs none. A child does it: a source that kills the interpreter, or takes too long, costs that child, and
 * the next one goes on behind it. For every Python from 3.10 on.
 */
export const CHECK_PROGRAM = `
import ast, json, os, resource, signal, warnings

SECONDS_OF_FILE = 10
MEMORY_BYTES = 768 << 20
MESSAGES = {
    signal.SIGPROF: "it takes more than %d seconds to compile. Make it shorter" % SECONDS_OF_FILE,
    signal.SIGSEGV: "it nests too deeply to be compiled",
}
TOO_LARGE = "compiling it takes too much memory, or it nests too deeply. Make it shorter"


def main(source):
    with open(source, "rb") as file:
        files = [(file.read(size), is_entry) for size, is_entry in json.loads(file.readline())]
    reports = []
    while len(reports) < len(files):
        done, end = examine_in_child(files[len(reports):])
        reports += done
        if end is not None:
            reports.append({"problem": at(1, 1, MESSAGES.get(end, TOO_LARGE)), "main": None})
    return {"answer": reports}


def examine_in_child(files):
    """Reports as far as a child came, and the signal that ended it before the last."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            examine_all(files, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().split(b"\\n")[:-1]
    status = os.waitpid(child, 0)[1]
    reports = [json.loads(line) for line in lines]
    if len(reports) == len(files):
        return reports, None
    return reports, os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def examine_all(files, writing):
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    warnings.simplefilter("ignore")
    with open(writing, "w", encoding="ascii") as pipe:
        for source, is_entry in files:
            signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_FILE)
            pipe.write(json.dumps(examine(source, is_entry)) + "\\n")
            pipe.flush()


def examine(source, is_entry):
    if b"\\0" in source:
        before = source[: source.index(b"\\0")]
        line, column = before.count(b"\\n") + 1, len(before) - before.rfind(b"\\n")
        return {"problem": at(line, column, "it holds a NUL byte. Save it as UTF-8 text"), "main": None}
    try:
        compile(source, "<file>", "exec", dont_inherit=True)
        return {"problem": None, "main": find_main(source) if is_entry else None}
    except SyntaxError as error:
        return {"problem": at(error.lineno, error.offset, str(error.msg).replace("<file>", "it")), "main": None}
    except (MemoryError, RecursionError):
        return {"problem": at(1, 1, TOO_LARGE), "main": None}
    except (ValueError, OverflowError) as error:
        return {"problem": at(1, 1, str(error)), "main": None}


def at(line, column, message):
    return {"line": max(line or 1, 1), "column": max(column or 1, 1), "message": message[:500]}


def find_main(source):
    """The parameters of main, where the file has one plain function of that name and nothing else that could be it."""
    tree = ast.parse(source)
    found = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == "main"]
    if len(found) != 1 or found[0].decorator_list or sum(binds_main(node) for node in ast.walk(tree)) != 1:
        return None
    arguments = found[0].args
    plain = arguments.posonlyargs + arguments.args
    required = plain[: len(plain) - len(arguments.defaults)]
    required += [argument for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults) if default is None]
    return {
        "line": found[0].lineno,
        "column": found[0].col_offset + 1,
        "required": [argument.arg for argument in required],
        "names": [argument.arg for argument in plain + arguments.kwonlyargs],
        "takesAll": arguments.kwarg is not None,
    }


def binds_main(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == "main"
    if isinstance(node, ast.alias):
        return node.name == "*" or (node.asname or node.name) == "main"
    return isinstance(node, ast.Name) and node.id == "main" and not isinstance(node.ctx, ast.Load)
`;
