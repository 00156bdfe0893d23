"""The slow ways to find out what main.py and its main() are; the runner has quick ones for the usual code."""

import _ast

LONG_MAX = (1 << 63) - 1


def binds(source, wanted):
    """Whether the file gives itself this name at its top level, outside of its script guard."""
    tree = compile(source, "<main>", "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    return wanted in bound_names(tree.body)


def bound_names(statements):
    for statement in statements:
        if isinstance(statement, (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef)):
            yield statement.name
        elif isinstance(statement, (_ast.Import, _ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in statement.names)
        elif isinstance(statement, (_ast.Assign, _ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, _ast.Assign) else [statement.target]
            yield from (target.id for target in targets if isinstance(target, _ast.Name))
        elif isinstance(statement, (_ast.If, _ast.Try, _ast.With)) and not is_script_guard(statement):
            for block in ("body", "orelse", "finalbody"):
                yield from bound_names(getattr(statement, block, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from bound_names(handler.body)


def is_script_guard(statement):
    test = getattr(statement, "test", None)
    sides = [test.left, *test.comparators] if isinstance(test, _ast.Compare) else []
    return any(isinstance(side, _ast.Name) and side.id == "__name__" for side in sides)


def describe(function, load):
    """Of a callable that is no plain function: its parameters, those with a default, the positional ones, and whether it takes any name."""
    inspect = load("inspect")
    parameters = inspect.signature(function).parameters.values()
    named = [parameter for parameter in parameters if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)]
    return (
        [parameter.name for parameter in named],
        {parameter.name for parameter in named if parameter.default is not parameter.empty},
        [parameter.name for parameter in named if parameter.kind is parameter.POSITIONAL_ONLY],
        any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters),
    )


def to_exit_code(number):
    """As CPython does it: what no C long can hold is -1, and a process has eight bits for its code."""
    return (number if -LONG_MAX - 1 <= number <= LONG_MAX else -1) & 0xFF
