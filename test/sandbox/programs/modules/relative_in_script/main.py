from . import sibling  # noqa
