from pathlib import Path


def main():
    out = Path("outputs")
    (out / "report.txt").write_text("left")
    (out / "report.csv").write_text("left too")
    (out / "deep/er").mkdir(parents=True)
    (out / "deep/er/x.txt").write_text("deep")
    (out / ".hidden").write_text("hidden")
    (out / "no extension").write_text("plain")
    return {"report": "returned", "deep": "a file beside a folder", "again": out / "report.csv"}
