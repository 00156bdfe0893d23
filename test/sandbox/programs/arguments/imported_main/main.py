from work import main  # noqa: F401
