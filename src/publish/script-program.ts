/**
 * Finds out what a script wants to be given: the parameters of its main, or what its own parser reads (argparse, click, typer).
 * It parses and never runs the script, so what only running would tell stays unknown. For every Python from 3.10 on.
 */
export const DESCRIBE_PROGRAM = `
import ast, json, keyword, re, sys

TYPES = {"int": "integer", "float": "number", "str": "string", "bool": "boolean", "Path": "file", "PurePath": "file",
         "FileType": "file", "File": "file", "open": "file", "list": "json", "dict": "json", "List": "json", "Dict": "json",
         "Any": "json", "tuple": "json", "set": "json", "date": "date", "datetime": "datetime", "DateTime": "datetime",
         "INT": "integer", "FLOAT": "number", "STRING": "string", "BOOL": "boolean", "IntRange": "integer",
         "FloatRange": "number", "Decimal": "number", "object": "json"}
A_FILE = re.compile(r"(^|_)(file|files|path|paths|filename|infile|csv|xlsx|excel|parquet)$")
AN_OUTPUT = re.compile(r"^(o|out|output|outfile|dest|destination|target)$|^(out|output|save|write)_|_(out|output)$")
A_FOLDER = re.compile(r"(^|_)(dir|directory|folder)$")
UNKNOWN = object()
"""What only running the program would tell."""
NOTHING = object()


def main(source):
    with open(source, "rb") as file:
        text = file.read()
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return {"answer": {"problem": {"line": error.lineno or 1, "column": error.offset or 1, "message": str(error.msg)[:500]}}}
    except (ValueError, MemoryError, RecursionError) as error:
        return {"answer": {"problem": {"line": 1, "column": 1, "message": str(error)[:500]}}}
    return {"answer": Reading(tree).describe()}


class Reading:
    def __init__(self, tree):
        self.tree = tree
        self.inputs, self.notes = {}, []
        self.about = ast.get_docstring(tree) or ""
        self.constants, self.enums, self.functions = {}, {}, {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.constants[node.targets[0].id] = node.value
            elif isinstance(node, ast.ClassDef) and any(name_of(base).endswith("Enum") for base in node.bases):
                self.enums[node.name] = [value for each in node.body if isinstance(each, ast.Assign) for value in [self.literal(each.value)] if isinstance(value, str)]
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[node.name] = node

    def describe(self):
        kind = self.read()
        return {
            "kind": kind,
            "description": self.about.split("\\n\\n")[0].replace("\\n", " ")[:500],
            "inputs": list(self.inputs.values()),
            "modules": self.modules(),
            "notes": self.notes,
        }

    def read(self):
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        if self.imports("typer"):
            commands = [each for each in self.functions.values() if any(name_of(one).endswith(".command") for one in each.decorator_list)]
            commands += [self.functions[call.args[0].id] for call in calls if name_of(call) == "typer.run" and call.args and isinstance(call.args[0], ast.Name) and call.args[0].id in self.functions]
            return self.read_commands("typer", commands, self.read_typer)
        if self.imports("click"):
            commands = [each for each in self.functions.values() if any(name_of(one).split(".")[-1] == "command" for one in each.decorator_list)]
            return self.read_commands("click", commands, self.read_click)
        parameters = self.main_parameters()
        if parameters:
            self.about = self.about or ast.get_docstring(self.functions["main"]) or ""
            for argument, default in parameters:
                self.read_parameter(argument.arg, argument.annotation, default, {})
                found = self.inputs.get(argument.arg, {"default": None})
                if default is not NOTHING and "default" not in found and self.literal(default) is not None:
                    self.notes.append("%s is None when it is not given, in place of its own default." % argument.arg)
            return "main"
        adding = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"]
        if adding and self.imports("argparse"):
            if any(isinstance(call.func, ast.Attribute) and call.func.attr == "add_subparsers" for call in calls):
                self.notes.append("The program has subcommands, which inputs cannot choose. Write the call you want into a main of your own.")
            self.about = self.about or next((self.help(each.value) for call in calls if name_of(call).endswith("ArgumentParser") for each in call.keywords if each.arg == "description"), "")
            for call in adding:
                self.read_argparse(call)
            return "argparse"
        if any(name_of(node) == "sys.argv" for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)):
            self.notes.append("The program reads sys.argv itself. Give it a main with parameters, or argparse, and it gets inputs.")
        return "script"

    def imports(self, module):
        return module in self.modules(all=True)

    def modules(self, all=False):
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split(".")[0])
        return sorted(found if all else found - set(sys.stdlib_module_names) - {"treadle", "__main__"})[:200]

    def main_parameters(self):
        function = self.functions.get("main")
        if function is None or function.decorator_list:
            return []
        given = function.args
        plain = given.posonlyargs + given.args
        defaults = [NOTHING] * (len(plain) - len(given.defaults)) + given.defaults
        found = list(zip(plain, defaults)) + [(each, NOTHING if default is None else default) for each, default in zip(given.kwonlyargs, given.kw_defaults)]
        return [] if {argument.arg for argument, _ in found} <= {"argv", "args"} else found

    def read_commands(self, kind, commands, read):
        if len(commands) > 1:
            self.notes.append("The program has subcommands, which inputs cannot choose. Write the call you want into a main of your own.")
        for command in commands[:1]:
            self.about = self.about or ast.get_docstring(command) or ""
            read(command)
        return kind

    # Each parser in its own words

    def read_argparse(self, call):
        flags = [value for value in map(self.literal, call.args) if isinstance(value, str)]
        named = {each.arg: each.value for each in call.keywords if each.arg}
        if not flags:
            return
        action = "boolean" if name_of(named.get("action")).endswith("BooleanOptionalAction") else self.literal(named.get("action"), "store")
        if action in ("help", "version"):
            return
        is_operand = not flags[0].startswith("-")
        long = next((flag for flag in flags if flag.startswith("--")), flags[0])
        dest = self.literal(named.get("dest"), None) or long.lstrip("-")
        nargs, default = self.literal(named.get("nargs"), None), self.literal(named.get("default"), NOTHING)
        required = nargs not in ("?", "*") if is_operand else self.literal(named.get("required"), False) is True
        given = {"required": required, "default": default, "description": self.help(named.get("help"))}
        if action in ("store_true", "store_false", "boolean", "store_const", "append_const"):
            given["default"] = default if isinstance(default, bool) else action == "store_false"
            return self.add(dest, "boolean", given)
        if action == "count":
            given["default"] = default if isinstance(default, int) else 0
            return self.add(dest, "integer", given)
        is_list = action in ("append", "extend") or nargs in ("+", "*") or (isinstance(nargs, int) and nargs > 1)
        self.add_typed(dest, named.get("type"), given, self.literal(named.get("choices"), None), is_list, is_operand)

    def read_click(self, function):
        for decorator in function.decorator_list:
            kind = name_of(decorator).split(".")[-1]
            if not isinstance(decorator, ast.Call) or kind not in ("option", "argument"):
                continue
            words = [value for value in map(self.literal, decorator.args) if isinstance(value, str)]
            named = {each.arg: each.value for each in decorator.keywords if each.arg}
            if not words:
                continue
            flags = [word for word in words if word.startswith("-")]
            own = [word for word in words if not word.startswith("-")]
            dest = own[0] if own else max((flag.split("/")[0] for flag in flags), key=len).lstrip("-")
            default = self.literal(named.get("default"), NOTHING)
            is_operand = kind == "argument"
            required = self.literal(named.get("required"), is_operand and default is NOTHING and self.literal(named.get("nargs"), 1) != -1)
            given = {"required": required is True, "default": default, "description": self.help(named.get("help"))}
            if any("/" in flag for flag in flags) or self.literal(named.get("is_flag"), False) is True or isinstance(default, bool):
                given["default"] = default is True
                self.add(dest, "boolean", given)
            elif self.literal(named.get("count"), False) is True:
                given["default"] = default if isinstance(default, int) else 0
                self.add(dest, "integer", given)
            else:
                is_list = self.literal(named.get("multiple"), False) is True or self.literal(named.get("nargs"), 1) != 1
                self.add_typed(dest, named.get("type"), given, None, is_list, is_operand)

    def read_typer(self, function):
        given = function.args
        plain = given.posonlyargs + given.args
        defaults = [NOTHING] * (len(plain) - len(given.defaults)) + given.defaults
        for argument, default in zip(plain, defaults):
            annotation, more = argument.annotation, {}
            if isinstance(annotation, ast.Subscript) and name_of(annotation).split(".")[-1] == "Annotated":
                annotation, *marks = annotation.slice.elts
                more = next((mark for mark in marks if isinstance(mark, ast.Call)), None)
            elif isinstance(default, ast.Call) and name_of(default).split(".")[-1] in ("Option", "Argument"):
                more, default = default, default.args[0] if default.args else NOTHING
                if isinstance(default, ast.Constant) and default.value is Ellipsis:
                    default = NOTHING
            named = {each.arg: each.value for each in more.keywords if each.arg} if isinstance(more, ast.Call) else {}
            self.read_parameter(argument.arg, annotation, default, named)

    def read_parameter(self, name, annotation, default, named):
        """A parameter of a function, by its annotation."""
        optional, annotation = split_optional(annotation)
        value = default if default is NOTHING else self.literal(default, UNKNOWN)
        given = {"required": default is NOTHING and not optional, "default": value, "description": self.help(named.get("help"))}
        if isinstance(annotation, ast.Subscript):
            outer, inner = name_of(annotation).split(".")[-1], annotation.slice
            if outer == "Literal":
                choices = [self.literal(each) for each in (inner.elts if isinstance(inner, ast.Tuple) else [inner])]
                return self.add_typed(name, None, given, choices, False, False)
            is_list = outer in ("list", "List", "Sequence", "Iterable")
            return self.add_typed(name, inner if is_list else annotation, given, None, is_list, False)
        if name_of(annotation) in self.enums:
            return self.add_typed(name, None, given, self.enums[name_of(annotation)], False, False)
        if annotation is None and value not in (NOTHING, UNKNOWN, None):
            kind = {bool: "boolean", int: "integer", float: "number", str: "string"}.get(type(value), "json")
            return self.add(name, kind, given)
        self.add_typed(name, annotation, given, None, False, False)

    # What they have in common

    def add_typed(self, name, type_node, given, choices, is_list, is_operand):
        word = name_of(type_node).split(".")[-1]
        if word == "Choice" and isinstance(type_node, ast.Call) and type_node.args:
            choices = self.literal(type_node.args[0], None)
        if isinstance(choices, (list, tuple, set, range)) and 0 < len(choices) <= 500:
            if given["default"] not in (NOTHING, UNKNOWN, None) and not is_list:
                given["default"] = str(given["default"])
            given["options"] = [str(choice) for choice in choices]
            return self.add(name, "multi_select" if is_list else "select", given)
        kind = TYPES.get(word, "string")
        simple = name.replace("-", "_").lower()
        writes = isinstance(type_node, ast.Call) and any("w" in str(self.literal(each, "")) for each in type_node.args[:1])
        if kind in ("file", "string") and (writes or AN_OUTPUT.search(simple)):
            text = given["default"] if isinstance(given["default"], str) else simple
            given.update(required=False, default=text if text.startswith(("outputs/", "/")) else "outputs/" + text.lstrip("./"))
            self.notes.append("%s is where the program writes: below outputs/, so that it is an output." % name)
            return self.add(name, "string", given)
        if word in ("Path", "PurePath") and A_FOLDER.search(simple):
            kind = "string"
        elif kind == "string" and word in ("", "str") and (A_FILE.search(simple) or (is_operand and simple in ("input", "source", "src"))):
            kind = "file"
        if kind == "file":
            given["default"] = NOTHING
        self.add(name, {"file": "file_list"}.get(kind, "json") if is_list else kind, given)

    def add(self, name, kind, given):
        name = re.sub(r"\\W", "_", name)
        name += "_" if keyword.iskeyword(name) else ""
        if not name.isidentifier() or len(self.inputs) >= 200 or name in self.inputs:
            return
        default = given["default"]
        found = {"name": name, "type": kind, "description": given["description"]}
        if "options" in given:
            found["options"] = list(dict.fromkeys(given["options"]))
        if fits(kind, default, found.get("options")):
            found["default"] = default
        elif not given["required"] or default not in (NOTHING, UNKNOWN):
            found["required"] = False
        self.inputs[name] = found

    def help(self, node):
        text = self.literal(node, "")
        return re.sub(r"\\s+", " ", re.sub(r"\\s*[(\\[]default:? %\\(default\\)s[)\\]]", "", text))[:500] if isinstance(text, str) else ""

    def literal(self, node, missing=UNKNOWN):
        """The value of an expression that needs no running; names of constants of the file count."""
        for _ in range(5):
            if not isinstance(node, ast.Name) or node.id not in self.constants:
                break
            node = self.constants[node.id]
        if node is None:
            return missing
        if isinstance(node, ast.Call) and name_of(node) in ("range", "list", "tuple", "sorted") and node.args:
            values = [self.literal(each) for each in node.args]
            if name_of(node) != "range":
                return list(values[0]) if isinstance(values[0], (list, tuple, range)) else missing
            return range(*values) if all(isinstance(each, int) for each in values) and len(values) < 4 else missing
        if isinstance(node, ast.Call) and name_of(node).split(".")[-1] == "Path" and len(node.args) == 1:
            return self.literal(node.args[0], missing)
        if isinstance(node, ast.Attribute) and name_of(node.value) in self.enums:
            values = self.enums[name_of(node.value)]
            return next((value for value in values if value.lower() == node.attr.lower()), missing)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return missing


def fits(kind, value, options):
    if value is NOTHING or value is UNKNOWN or value is None or kind in ("file", "file_list", "date", "datetime"):
        return False
    if kind == "select":
        return value in options
    if kind == "multi_select":
        return isinstance(value, (list, tuple)) and all(each in options for each in value)
    if kind == "json":
        try:
            return len(json.dumps(value)) < 1000
        except (TypeError, ValueError):
            return False
    wanted = {"boolean": bool, "integer": int, "number": (int, float), "string": str}[kind]
    return isinstance(value, wanted) and (kind == "boolean") == isinstance(value, bool) and value == value and abs(value if kind in ("integer", "number") else 0) < 1e15


def split_optional(node):
    """Whether None is one of its types, and the other one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return False, None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [side for side in (node.left, node.right) if not (isinstance(side, ast.Constant) and side.value is None)]
        return len(sides) == 1, sides[0]
    if isinstance(node, ast.Subscript) and name_of(node).split(".")[-1] == "Optional":
        return True, node.slice
    return False, node


def name_of(node):
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    if isinstance(node, ast.Attribute):
        return name_of(node.value) + "." + node.attr
    return node.id if isinstance(node, ast.Name) else ""
`;
