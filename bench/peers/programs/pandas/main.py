# /// script
# dependencies = ["pandas==2.3.3"]
# ///
"""A small table, and the import that takes most of the time of many a script."""

import sys

import pandas as pd


def main(value):
    frame = pd.DataFrame({"x": range(1000), "y": range(1000)})
    total = int(frame.groupby(frame.x % int(value)).y.sum().iloc[0])
    return {"answer": str(total)}


if __name__ == "__main__":
    print(main(sys.argv[1])["answer"])
