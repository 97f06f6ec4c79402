"""SQLAlchemy's pool over PyMySQL and over Connector/Python: its dialects know lists of codes on which a connection is dropped. Without TLS
Connector/Python cannot log in on a cold caching_sha2_password cache; PyMySQL, which goes first, has warmed it."""
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
        assert error.orig.sqlstate == "HY000", error.orig.sqlstate
        return
    raise AssertionError("it was not refused")


def insert(connection):
    connection.execute(text(f"INSERT INTO {table} (batch) VALUES (:batch)"), {"batch": 1})


def read_and_insert(connection):
    connection.scalar(text(f"SELECT COUNT(*) FROM {table}"))
    insert(connection)


drivers = [
    engine("pymysql"),
    engine("mysqlconnector", connect_args=dict(use_pure=True, ssl_disabled=True, charset="utf8mb4", collation="utf8mb4_general_ci")),
]
first = [number(driver) for driver in drivers]
for step, work in [("text", insert), ("transaction", read_and_insert), ("same_connection", insert)]:
    for driver, before in zip(drivers, first):
        refused(driver, work)
        assert number(driver) == before, driver
    print("ok", step)
for driver in drivers:
    driver.dispose()
print("done")
