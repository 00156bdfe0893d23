import io

import pandas as pd


def main(table):
    frame = pd.read_csv(table)
    grouped = frame.groupby("region", as_index=False)["price"].sum()
    print(grouped)
    dates = pd.date_range("2026-01-01", periods=3, tz="Europe/Berlin")
    return {
        "grouped": grouped,
        "series": frame["price"].describe(),
        "dates": [str(date) for date in dates],
        "json": frame.to_json(orient="records"),
        "parsed": pd.read_json(io.StringIO('[{"a": 1}]')).a.tolist(),
        "version": pd.__version__,
    }
