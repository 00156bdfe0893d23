import datetime
import decimal
import fractions
import math
import time


def main():
    precision = decimal.getcontext().prec
    decimal.getcontext().prec = 5
    return [
        precision,
        str(decimal.Decimal(1) / 3),
        str(fractions.Fraction(1, 3) + 1),
        math.fsum([0.1] * 10),
        datetime.datetime(2026, 2, 3, 4, 5).strftime("%A %d %B %Y %H:%M %p"),
        str(datetime.datetime.fromisoformat("2026-02-03T04:05:06+02:00").astimezone(datetime.timezone.utc)),
        time.strftime("%Y", time.gmtime(0)),
    ]
