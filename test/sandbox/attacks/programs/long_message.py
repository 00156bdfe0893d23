"""An exception whose text alone would fill a table."""

raise ValueError("x" * 10_000_000)
