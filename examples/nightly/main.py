"""How many hours the team has in each of the coming weeks, less holidays and absences."""

import csv
from datetime import date, timedelta
from pathlib import Path

WORKDAYS_PER_WEEK = 5


def main(team: list, holidays: "list | None" = None, weeks: int = 4, start: "date | None" = None) -> dict:
    first = start or date.today()
    closed = {to_date(day, "holidays") for day in holidays or []}
    people = [Person(entry, position) for position, entry in enumerate(team)]
    rows = []
    for week in range(weeks):
        monday = first - timedelta(days=first.weekday()) + timedelta(weeks=week)
        days = [monday + timedelta(days=offset) for offset in range(WORKDAYS_PER_WEEK)]
        open_days = [day for day in days if day >= first and day not in closed]
        rows += [(monday, person.name, person.hours(open_days)) for person in people]
    print(f"Planned {weeks} weeks for {len(people)} people from {first}")

    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    with open(folder / "capacity.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["week", "person", "hours"])
        writer.writerows((f"{monday:%G-W%V}", name, f"{hours:g}") for monday, name, hours in rows)
    totals = {}
    for monday, _name, hours in rows:
        totals[f"{monday:%G-W%V}"] = totals.get(f"{monday:%G-W%V}", 0) + hours
    return {"capacity": folder / "capacity.csv", "summary": {"from": first, "hours": totals}}


class Person:
    def __init__(self, entry: dict, position: int):
        where = f"team[{position}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise SystemExit(f"{where} needs a name.")
        hours = entry.get("hours_per_week")
        if isinstance(hours, bool) or not isinstance(hours, (int, float)):
            raise SystemExit(f"{where} ({entry['name']}) needs hours_per_week as a number.")
        self.name = entry["name"]
        self.hours_per_day = hours / WORKDAYS_PER_WEEK
        self.away = [(to_date(span["from"], where), to_date(span["until"], where)) for span in entry.get("away") or []]

    def hours(self, days: list) -> float:
        present = [day for day in days if not any(begin <= day <= end for begin, end in self.away)]
        return round(len(present) * self.hours_per_day, 2)


def to_date(text: str, where: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise SystemExit(f"{where}: {text!r} is not a date such as 2026-12-24.") from None
