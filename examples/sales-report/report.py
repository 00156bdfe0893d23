"""Lays the figures out as a PDF: a headline, a chart of the months, a table of the best products."""

from pathlib import Path
from xml.sax.saxutils import escape

from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

INK = colors.HexColor("#1f3a5f")
PALE = colors.HexColor("#eef2f7")
WIDTH = 470


def money(cents: int) -> str:
    return f"{cents // 100:,}.{cents % 100:02d}"


def write_report(path: Path, *, title: str, facts: list, months, products) -> None:
    """`months` maps month to cents; `products` has rows of product, orders, units and cents."""
    styles = getSampleStyleSheet()
    story = [Paragraph(escape(title), styles["Title"]), facts_table(facts), Spacer(1, 14)]
    if len(months) > 0:
        story += [Paragraph("Revenue by month", styles["Heading2"]), month_chart(months)]
        story += [Paragraph("Best sellers", styles["Heading2"]), product_table(products)]
    else:
        story.append(Paragraph("There are no paid orders in this selection.", styles["Normal"]))
    # Uncompressed and without time stamps: the same orders give the same file, and its text can be searched.
    document = SimpleDocTemplate(str(path), pagesize=A4, title=title, author="Treadle", pageCompression=0, invariant=1)
    document.build(story)


def facts_table(facts: list) -> Table:
    labels, values = zip(*facts)
    table = Table([values, labels], colWidths=[WIDTH / len(facts)] * len(facts))
    table.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 15),
                ("FONT", (0, 1), (-1, 1), "Helvetica", 9),
                ("TEXTCOLOR", (0, 0), (-1, 0), INK),
                ("BACKGROUND", (0, 0), (-1, -1), PALE),
                ("ALIGN", (0, 0), (-1, -1), "CENTER"),
                ("TOPPADDING", (0, 0), (-1, 0), 10),
                ("BOTTOMPADDING", (0, 1), (-1, 1), 10),
            ]
        )
    )
    return table


def month_chart(months) -> Drawing:
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 60, 50, WIDTH - 70, 170
    chart.data = [[cents / 100 for cents in months]]
    chart.categoryAxis.categoryNames = list(months.index)
    chart.categoryAxis.labels.angle = 45
    chart.categoryAxis.labels.boxAnchor = "ne"
    chart.categoryAxis.labels.fontSize = 8
    chart.valueAxis.valueMin = min(0, *(cents / 100 for cents in months))
    chart.valueAxis.labelTextFormat = lambda value: f"{value:,.0f}"
    chart.valueAxis.labels.fontSize = 8
    chart.bars[0].fillColor = INK
    chart.bars[0].strokeColor = None
    drawing = Drawing(WIDTH, 230)
    drawing.add(chart)
    return drawing


def product_table(products) -> Table:
    rows = [["Product", "Orders", "Units", "Revenue"]]
    rows += [[row.product, f"{row.orders:,}", f"{row.units:,}", money(row.cents)] for row in products.itertuples()]
    table = Table(rows, colWidths=[WIDTH - 240, 70, 70, 100], repeatRows=1)
    table.setStyle(
        TableStyle(
            [
                ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
                ("FONT", (0, 1), (-1, -1), "Helvetica", 9),
                ("TEXTCOLOR", (0, 0), (-1, 0), colors.white),
                ("BACKGROUND", (0, 0), (-1, 0), INK),
                ("ROWBACKGROUNDS", (0, 1), (-1, -1), [colors.white, PALE]),
                ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
            ]
        )
    )
    return table
