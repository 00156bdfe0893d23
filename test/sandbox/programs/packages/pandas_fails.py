import pandas as pd


def main():
    return pd.DataFrame({"a": [1]})["b"]
