"""Several files in, one out. Tables (CSV, TSV) are joined by column name, text is put one after the other."""

import csv
from pathlib import Path

TABLES = {".csv": ",", ".tsv": "\t"}


def main(files: list, separator: "str | None" = None, source_column: str = "source") -> dict:
    files = [Path(file) for file in files]
    if not files:
        raise SystemExit("There are no files to merge.")
    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    if all(file.suffix.lower() in TABLES for file in files):
        merged = folder / "merged.csv"
        contents = merge_tables(files, merged, source_column)
    else:
        merged = folder / "merged.txt"
        contents = merge_text(files, merged, separator)
    print(f"Merged {len(files)} files into {merged.name}")
    return {"merged": merged, "contents": contents}


def merge_tables(files: list, merged: Path, source_column: str) -> list:
    """Every column of every file, in the order they first appear; a file without a column leaves it empty."""
    columns = {}
    for file in files:
        for column in read_header(file):
            columns.setdefault(column)
    if source_column in columns:
        raise SystemExit(f'A file already has a column "{source_column}"; choose another name for source_column.')
    contents = []
    with open(merged, "w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, [*([source_column] if source_column else []), *columns])
        writer.writeheader()
        for file in files:
            rows = 0
            for row in read_rows(file):
                writer.writerow({source_column: file.name, **row} if source_column else row)
                rows += 1
            contents.append({"file": file.name, "rows": rows})
    return contents


def read_header(file: Path) -> list:
    with open_table(file) as source:
        header = next(csv.reader(source, delimiter=delimiter_of(file)), [])
    repeated = {column for column in header if header.count(column) > 1}
    if repeated:
        raise SystemExit(f"{file.name} has the column {sorted(repeated)[0]!r} twice.")
    return header


def read_rows(file: Path):
    with open_table(file) as source:
        reader = csv.DictReader(source, delimiter=delimiter_of(file))
        for row in reader:
            if None in row:
                raise SystemExit(f"{file.name}, line {reader.line_num}: the row has more values than the header has columns.")
            yield row


def open_table(file: Path):
    return open(file, newline="", encoding="utf-8-sig")


def delimiter_of(file: Path) -> str:
    """Spreadsheets of many countries write `;` into .csv files: the header line tells."""
    if file.suffix.lower() == ".tsv":
        return "\t"
    with open_table(file) as source:
        header = source.readline()
    return max(",;\t", key=header.count)


def merge_text(files: list, merged: Path, separator: "str | None") -> list:
    """File after file, each ending with a newline; line by line, so that size does not matter."""
    contents = []
    with open(merged, "w", encoding="utf-8", newline="\n") as target:
        for position, file in enumerate(files):
            if position > 0 and separator is not None:
                target.write(separator + "\n")
            lines = 0
            with open(file, encoding="utf-8-sig", errors="replace") as source:
                for line in source:
                    target.write(line if line.endswith("\n") else line + "\n")
                    lines += 1
            contents.append({"file": file.name, "lines": lines})
    return contents
