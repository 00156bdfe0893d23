"""Parts of the standard library, for the runner: a commit may have modules with the same names."""

import posix
import sys

_loaded = {}


def load(name, folders):
    """Imports a module of the standard library from its folders. Modules of the commit stay what its own code gets."""
    if name in _loaded:
        return _loaded[name]
    names = find_names_of_commit(folders) & sys.stdlib_module_names
    tops = {top for top in names.difference(sys.builtin_module_names) if not is_from(folders, sys.modules.get(top))}
    theirs = take_modules(tops)
    sys.path[:0] = folders
    try:
        module = _loaded[name] = __import__(name)
        if tops and name == "asyncio":
            module.new_event_loop().close()  # With its first loop it imports the rest of itself.
        return module
    finally:
        for folder in folders:
            sys.path.remove(folder)
        take_modules(tops)
        sys.modules.update(theirs)


def find_names_of_commit(folders):
    """What `import` finds in the folders that come before the standard library's."""
    names = set()
    for folder in sys.path:
        if folder in folders:
            break
        try:
            names.update(name.partition(".")[0] for name in posix.listdir(folder))
        except (OSError, TypeError, ValueError):
            pass  # No folder: an archive, or anything else that user code has put there.
    return names


def is_from(folders, module):
    return str(getattr(module, "__file__", None)).startswith(tuple(folder + "/" for folder in folders))


def take_modules(tops):
    """Takes modules and what is in them out of the interpreter's list."""
    names = [name for name in list(sys.modules) if name.partition(".")[0] in tops] if tops else ()
    return {name: sys.modules.pop(name) for name in names}
