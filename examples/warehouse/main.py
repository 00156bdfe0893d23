"""Loads the exchange rates of a day from a paid API into the warehouse. A day that is loaded again is there once."""

import csv
import json
import os
import ssl
import urllib.error
import urllib.request
from datetime import date
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlencode

import pg8000.dbapi
import treadle

ANSWER_SECONDS = 30
TABLE = """create table if not exists rates (
    day date, base text, currency text, rate numeric not null, loaded_by text not null, primary key (day, base, currency))"""


def main(day: date) -> dict:
    base = os.environ["BASE_CURRENCY"]
    print(f"Loading {base} of {day}, attempt {treadle.run.attempt}, due at: {treadle.run.scheduled_for}")
    # The warehouse comes first: while it is down, no call of the API has to be paid.
    warehouse = connect_to_warehouse()
    try:
        rates = fetch_rates(day, base)
        replace_day(warehouse, day, base, rates)
    finally:
        warehouse.close()
    print(f"Loaded {len(rates)} rates of {day}")
    summary = {"day": day, "base": base, "rows": len(rates), "due": treadle.run.scheduled_for, "run": treadle.run.id}
    return {"rates": write_table(day, base, rates), "summary": summary}


def connect_to_warehouse():
    return pg8000.dbapi.connect(
        host="warehouse",  # The name of the destination, not of a machine.
        user=os.environ["WAREHOUSE_USER"],
        password=os.environ["WAREHOUSE_PASSWORD"],
        database=os.environ["WAREHOUSE_DATABASE"],
        timeout=ANSWER_SECONDS,
    )


def fetch_rates(day: date, base: str) -> "dict[str, Decimal]":
    rates, page, pages = {}, 0, 1
    while page < pages:
        page += 1
        answer = ask_api({"day": day.isoformat(), "base": base, "page": page})
        rates |= answer["rates"]
        pages = answer["pages"]
        treadle.progress(page / pages, f"page {page} of {pages}")
        print(f"Page {page} of {pages}: {len(answer['rates'])} rates")
    if not rates:
        raise SystemExit(f"The API has no rates of {day} yet.")
    return rates


def ask_api(query: dict) -> dict:
    request = urllib.request.Request(
        f"{os.environ['RATES_URL']}/rates?{urlencode(query)}",
        headers={"Authorization": f"Bearer {os.environ['RATES_TOKEN']}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS, context=trust()) as answer:
            return json.load(answer, parse_float=Decimal, parse_int=Decimal)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"The API answered {error.code}: {error.read(500).decode(errors='replace')}") from None


def trust() -> ssl.SSLContext:
    """The public authorities, and the company's own where ca.pem lies beside this file."""
    context = ssl.create_default_context()
    own = Path(__file__).with_name("ca.pem")
    if own.exists():
        context.load_verify_locations(own)
    return context


def replace_day(warehouse, day: date, base: str, rates: "dict[str, Decimal]") -> None:
    """In one transaction, so that readers see the day as it was or as it is now, and a repeat adds nothing."""
    cursor = warehouse.cursor()
    cursor.execute(TABLE)
    cursor.execute("delete from rates where day = %s and base = %s", (day, base))
    cursor.executemany(
        "insert into rates (day, base, currency, rate, loaded_by) values (%s, %s, %s, %s, %s)",
        [(day, base, currency, rate, treadle.run.id) for currency, rate in rates.items()],
    )
    warehouse.commit()


def write_table(day: date, base: str, rates: "dict[str, Decimal]") -> Path:
    path = Path("outputs/rates.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", "base", "currency", "rate"])
        writer.writerows([day, base, currency, rate] for currency, rate in sorted(rates.items()))
    return path
