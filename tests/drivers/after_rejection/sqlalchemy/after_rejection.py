"""SQLAlchemy's pool over PyMySQL: its dialect knows a list of codes on which a connection is dropped."""
import os

from sqlalchemy import create_engine, exc, text
from sqlalchemy.engine import URL

env = os.environ
table = env["TG_TABLE"]


def engine(driver, **more):
    url = URL.create(f"mysql+{driver}", env["TG_USER"], env["TG_PASSWORD"], env["TG_HOST"], int(env["TG_PORT"]), env["TG_DATABASE"])
    return create_engine(url, pool_size=1, max_overflow=0, **more)


def number(of):
    with of.connect() as connection:
        return connection.scalar(text("SELECT CONNECTION_ID()"))


def refused(of, work):
    try:
        with of.begin() as connection:
            work(connection)
    except exc.DBAPIError as error:
        assert not error.connection_invalidated, error
        code, message = error.orig.args[:2]
        assert code == 1226 and "[tollgate] rule=no-writes reason=ratio client=" in str(message), error.orig.args
        state = getattr(error.orig, "sqlstate", "HY000")
        assert state == "HY000", state
        return
    raise AssertionError("it was not refused")


def insert(connection):
    connection.execute(text(f"INSERT INTO {table} (batch) VALUES (:batch)"), {"batch": 1})


def read_and_insert(connection):
    connection.scalar(text(f"SELECT COUNT(*) FROM {table}"))
    insert(connection)


pymysql = engine("pymysql")
first = number(pymysql)
refused(pymysql, insert)
assert number(pymysql) == first
print("ok text")
refused(pymysql, read_and_insert)
assert number(pymysql) == first
print("ok transaction")
refused(pymysql, insert)
assert number(pymysql) == first
print("ok same_connection")
pymysql.dispose()
print("done")
