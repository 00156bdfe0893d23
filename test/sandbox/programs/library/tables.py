import csv
import io


def main():
    rows = list(csv.DictReader(io.StringIO('name;price\r\n"Ä;x";1,5\r\n'), delimiter=";"))
    with open("outputs/rows.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["name", "price"])
        writer.writeheader()
        writer.writerows(rows)
    return rows
