"""An order export in, a PDF report and a CSV summary out."""

from pathlib import Path

import report
import sales


def main(orders: Path, region: str = "All", top: int = 10, title: "str | None" = None) -> dict:
    selected = sales.of_region(sales.read_orders(orders), region)
    print(f"{len(selected):,} paid orders in {region}")
    months = sales.by_month(selected)
    products = sales.by_product(selected)

    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    sales.summarise(selected).to_csv(folder / "summary.csv", index=False)
    report.write_report(
        folder / "report.pdf",
        title=title or f"Sales report: {region}",
        facts=[
            ("Revenue", report.money(int(months.sum()))),
            ("Paid orders", f"{len(selected):,}"),
            ("Products", f"{len(products):,}"),
            ("Months", f"{len(months):,}"),
        ],
        months=months,
        products=products.head(top),
    )
    return {"report": folder / "report.pdf", "summary": folder / "summary.csv"}
