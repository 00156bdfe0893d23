"""Reads an order export and adds it up. Amounts are whole cents, so that sums are exact."""

from pathlib import Path

import pandas as pd

COLUMNS = ["order_id", "ordered_at", "region", "product", "status", "quantity", "unit_price"]


def read_orders(path: Path) -> pd.DataFrame:
    """Paid orders, one row each, with `month` and `cents`. Says which columns or rows are unusable."""
    header = pd.read_csv(path, nrows=0, encoding="utf-8-sig").columns
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise SystemExit(f"{Path(path).name} lacks the column(s) {', '.join(missing)}.")
    orders = pd.read_csv(
        path,
        usecols=COLUMNS,
        encoding="utf-8-sig",
        dtype={"order_id": "string", "region": "category", "product": "category", "status": "category"},
    )
    orders = orders[orders["status"] == "paid"].drop_duplicates("order_id").copy()
    for column in ("quantity", "unit_price"):
        orders[column] = to_numbers(orders, column)
    orders["month"] = pd.to_datetime(orders["ordered_at"], format="ISO8601", utc=True).dt.strftime("%Y-%m")
    orders["cents"] = orders["quantity"].astype("int64") * (orders["unit_price"] * 100).round().astype("int64")
    return orders


def to_numbers(orders: pd.DataFrame, column: str) -> pd.Series:
    numbers = pd.to_numeric(orders[column], errors="coerce")
    if numbers.isna().any():
        order_id = orders.loc[numbers.isna(), "order_id"].iloc[0]
        raise SystemExit(f"Order {order_id} has no number in the column {column}.")
    return numbers


def of_region(orders: pd.DataFrame, region: str) -> pd.DataFrame:
    return orders if region == "All" else orders[orders["region"] == region]


def by_month(orders: pd.DataFrame) -> pd.Series:
    return orders.groupby("month")["cents"].sum().sort_index()


def by_product(orders: pd.DataFrame) -> pd.DataFrame:
    """Orders, units and cents of each product, best seller first."""
    sums = orders.groupby("product", observed=True).agg(
        orders=("order_id", "size"), units=("quantity", "sum"), cents=("cents", "sum")
    )
    return sums.reset_index().sort_values(["cents", "product"], ascending=[False, True])


def summarise(orders: pd.DataFrame) -> pd.DataFrame:
    """One row for each month, region and product: the table behind the report."""
    keys = ["month", "region", "product"]
    sums = orders.groupby(keys, observed=True).agg(
        orders=("order_id", "size"), units=("quantity", "sum"), cents=("cents", "sum")
    )
    sums = sums.reset_index().sort_values(keys)
    sums["revenue"] = sums.pop("cents").map(to_amount)
    return sums


def to_amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
