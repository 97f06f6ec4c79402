"""Oracle's Connector/Python, with its own protocol code (argument `pure`) or with its C extension around libmysqlclient (`c`).
Without TLS neither can log in on a cold caching_sha2_password cache: they have no RSA exchange (the C extension fails with 2061, the pure
one sends the bare password and the server answers 1045). So without TLS the cache is warmed first, by PyMySQL, which has it."""
import io
import os
import sys

if sys.argv[1] == "c":
    import _mysql_connector  # first: the wheel brings a newer libssl than Debian 12's, which hashlib and ssl would load

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import dbapi
from dbapi import T, same
import mysql.connector
import pymysql

PURE = sys.argv[1] == "pure"


class ConnectorPython(dbapi.Driver):
    error = mysql.connector.Error
    expected_attributes = {"program_name": "tollgate-connector", "_client_name" if PURE else "_connector_name": "mysql-connector-python"}

    def connect(self, **other):
        options = dict(host=dbapi.HOST, port=dbapi.PORT, user=dbapi.USER, password=dbapi.PASSWORD, database=dbapi.DATABASE,
                       charset="utf8mb4", collation="utf8mb4_general_ci", autocommit=True, allow_local_infile=True,
                       use_pure=PURE, ssl_disabled=not dbapi.TLS, conn_attrs={"program_name": "tollgate-connector"})
        if dbapi.SOCKET:
            options.update(unix_socket=dbapi.SOCKET)
        return mysql.connector.connect(**{**options, **other})

    def connect_step(self):
        if not dbapi.TLS and not dbapi.SOCKET:
            pymysql.connect(host=dbapi.HOST, port=dbapi.PORT, user=dbapi.USER, password=dbapi.PASSWORD, ssl_disabled=True).close()
        super().connect_step()

    def wrong_password(self):
        if not PURE and not dbapi.TLS and not dbapi.SOCKET and dbapi.FLAVOR == "mysql":
            raise dbapi.Skip("without TLS the C extension gives up with 2061 before the server can say no")
        super().wrong_password()

    def ping_once(self, conn):
        conn.ping(reconnect=False)

    def secure(self, conn):
        return conn._ssl_active if PURE else bool(conn._cmysql.get_ssl_cipher())

    def connection_id(self, conn):
        return conn.connection_id

    def code(self, error):
        return error.errno

    def state(self, error):
        return error.sqlstate

    def stream(self, sql):
        cursor = self.conn.cursor(buffered=False)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def transaction(self):
        # Here autocommit is a property; the shared step calls it.
        class Both:
            def __init__(self, conn): self.conn = conn
            def autocommit(self, on): self.conn.autocommit = on
            def __getattr__(self, name): return getattr(self.conn, name)
        plain, self.conn = self.conn, Both(self.conn)
        super().transaction()
        self.conn = plain
        self.conn.start_transaction()
        self.run(f"INSERT INTO {T}_a (v) VALUES ('tx-5')")
        same(self.conn.in_transaction, True)
        self.conn.rollback()
        same(self.conn.in_transaction, False)

    def prepared(self):
        cursor = self.conn.cursor(prepared=True)
        insert = f"INSERT INTO {T}_p VALUES (%s, %s, %s, %s, %s, %s, %s)"
        when = dbapi.datetime.datetime(2026, 11, 16, 1, 2, 3, 456789)
        rows = [(i, i * -(2**40), i / 8, f"{dbapi.TEXT} {i}", None if i % 3 else i, bytes([i % 256, 0, 255]), when) for i in range(300)]
        for row in rows:  # the same statement again and again
            cursor.execute(insert, row)
            same(cursor.rowcount, 1)
        cursor.execute(insert, (300, "77", 1, 12, "5", "text", "2026-11-16 01:02:03.456789"))  # and with other types
        rows.append((300, 77, 1.0, "12", 5, b"text", when))
        cursor.close()
        cursor = self.conn.cursor(prepared=True)
        for low in (0, 100, 299):
            cursor.execute(f"SELECT * FROM {T}_p WHERE id >= %s ORDER BY id", (low,))
            same([tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in cursor.fetchall()], rows[low:])
        cursor.execute(f"SELECT * FROM {T}_p WHERE id >= %s ORDER BY id", (1000,))
        same(cursor.fetchall(), [])
        cursor.close()
        count = self.run("SHOW SESSION STATUS LIKE 'Com_stmt_close'")[0][1]
        same(int(count) > 0, True)

    def long_data(self):
        if not PURE:
            raise dbapi.Skip("the C extension does not send long data")
        value = bytes(range(256)) * 1000  # sent in pieces
        cursor = self.conn.cursor(prepared=True)
        cursor.execute(f"INSERT INTO {T}_p (id, s, bin, n) VALUES (%s, %s, %s, %s)", (5000, "before", io.BytesIO(value), 9))
        cursor.execute(f"INSERT INTO {T}_p (id, s, bin, n) VALUES (%s, %s, %s, %s)", (5001, "plain", b"short", None))
        cursor.close()
        same(self.run(f"SELECT s, bin, n FROM {T}_p WHERE id >= 5000 ORDER BY id"), [("before", value, 9), ("plain", b"short", None)])

    def change_user(self):
        self.forgets(lambda: self.conn.cmd_change_user(dbapi.USER, dbapi.PASSWORD, dbapi.DATABASE))
        self.conn.autocommit = True

    def reset_connection(self):
        self.forgets(self.conn.cmd_reset_connection)
        self.conn.set_charset_collation("utf8mb4")
        self.conn.autocommit = True

    def warnings(self):
        super().warnings()
        cursor = self.conn.cursor()
        cursor.execute("SELECT CAST('12abc' AS SIGNED), 1/0")
        cursor.fetchall()
        same(cursor.warning_count, 2)
        cursor.close()


dbapi.main(ConnectorPython())
