import datetime
import os
import time
import zoneinfo


def main():
    summer = datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
    before = list(time.tzname)
    os.environ["TZ"] = "Asia/Tokyo"
    time.tzset()
    return [before, time.timezone, time.tzname, summer.utcoffset().total_seconds(), time.localtime(0).tm_hour]
