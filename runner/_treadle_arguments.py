"""Inputs as command line arguments, for a script that reads its arguments with argparse, click or typer.

The script builds its parser itself. When that is asked for what was typed, it gets what the inputs say: each of its own parameters,
with the value of the input of the same name. So nothing is guessed of how a parameter is written.
"""

import sys


def install(kind, values):
    """Makes the parsers of this process read `values`, and answers True. An input that was not given is left to the parser's default."""
    if kind == "argparse":
        install_argparse(values)
    else:
        install_click(kind, values)
    return True


def install_argparse(values):
    import argparse

    parse = argparse.ArgumentParser.parse_known_args
    depth = 0

    def parse_known_args(self, args=None, namespace=None):
        nonlocal depth
        # A parser of subcommands calls others with what is left for them.
        if depth == 0 and (args is None or list(args) == sys.argv[1:]):
            args = argparse_words(self, values)
        depth += 1
        try:
            return parse(self, args, namespace)
        finally:
            depth -= 1

    argparse.ArgumentParser.parse_known_args = parse_known_args


def argparse_words(parser, values):
    options, operands = [], []
    for action in parser._actions:
        value = find(values, action.dest)
        if value is None:
            continue
        if not action.option_strings:
            operands += to_texts(value)
            continue
        kind, flag = type(action).__name__, max(action.option_strings, key=len)
        if kind == "_StoreTrueAction" or kind in ("_StoreConstAction", "_AppendConstAction"):
            options += [flag] if value else []
        elif kind == "_StoreFalseAction":
            options += [] if value else [flag]
        elif kind == "BooleanOptionalAction":
            options.append(next(each for each in action.option_strings if each.startswith("--no-") != bool(value)))
        elif kind == "_CountAction":
            options += [flag] * int(value)
        elif action.nargs in (None, "?"):
            options += [join(flag, text) for text in to_texts(value)]
        else:
            options += [flag, *to_texts(value)]
    return options + (["--", *operands] if operands else [])


def install_click(kind, values):
    if kind == "typer":
        from typer.core import TyperCommand as Command  # Newer ones have a click of their own inside.
    else:
        from click.core import Command
    owner = next(each for each in Command.__mro__ if "main" in vars(each))
    main = owner.main

    def main_with_inputs(self, args=None, *rest, **named):
        if args is None or list(args) == sys.argv[1:]:
            args = click_words(self, values)
        return main(self, args, *rest, **named)

    owner.main = main_with_inputs


def click_words(command, values):
    options, operands = [], []
    for parameter in command.params:
        value = find(values, parameter.name)
        if value is None:
            continue
        if parameter.param_type_name == "argument":
            operands += to_texts(value)
            continue
        flag = max(parameter.opts, key=len)
        if getattr(parameter, "count", False):
            options += [flag] * int(value)
        elif getattr(parameter, "is_flag", False):
            no = max(parameter.secondary_opts, key=len, default=None)
            options += [flag] if value else [no] if no else []
        elif parameter.nargs == 1:
            options += [join(flag, text) for text in to_texts(value)]
        else:
            options += [flag, *to_texts(value)]
    return options + (["--", *operands] if operands else [])


def find(values, name):
    """A name that Python keeps for itself has an underscore behind it as an input."""
    return values.get(name, values.get("%s_" % name))


def join(flag, text):
    """In one word, so that a text which begins with a dash is no other option."""
    return flag + "=" + text if flag.startswith("--") else flag + text


def to_texts(value):
    return [to_text(each) for each in value] if isinstance(value, (list, tuple)) else [to_text(value)]


def to_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        import json

        return json.dumps(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
