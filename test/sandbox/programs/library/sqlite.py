import sqlite3


def main():
    for place in (":memory:", "/tmp/work.db", "outputs/kept.db"):
        database = sqlite3.connect(place)
        database.execute("create table lines (id integer primary key, text)")
        database.executemany("insert into lines (text) values (?)", [("ä",), (None,), (b"x",)])
        database.commit()
        rows = database.execute("select id, text from lines order by id").fetchall()
        database.close()
    return repr(rows)
