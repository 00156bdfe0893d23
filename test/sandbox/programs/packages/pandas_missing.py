import numpy as np
import pandas as pd


def main():
    table = pd.DataFrame({"price": [1.5, None], "day": [pd.Timestamp("2026-01-02"), pd.NaT]})
    return {
        "records": table.to_dict("records"),
        "table": table,
        "values": [pd.NA, pd.NaT, np.nan, np.float32("inf"), np.datetime64("NaT"), np.array([1.0, np.nan])],
    }
