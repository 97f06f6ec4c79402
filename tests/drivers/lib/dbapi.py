"""The steps that Python's drivers share (PEP 249). A driver's own file subclasses Driver with what only it has.

Every step checks values, not only the absence of an error. A step that a driver cannot do raises Skip.
"""
import datetime
import decimal
import hashlib
import os
import sys
import tempfile
import threading
import time

HOST, PORT, SOCKET = os.environ["TG_HOST"], int(os.environ["TG_PORT"]), os.environ["TG_SOCKET"]
USER, PASSWORD, DATABASE = os.environ["TG_USER"], os.environ["TG_PASSWORD"], os.environ["TG_DATABASE"]
TLS, FLAVOR, T = os.environ["TG_TLS"] == "on", os.environ["TG_FLAVOR"], os.environ["TG_TABLE"]
PROCESSES = os.environ["TG_PROCESSLIST"]

STEPS = """connect ping text prepared cursor long_data transaction multi_result large_row many_rows error change_user
reset_connection local_infile warnings pipelining cancel wrong_password unknown_database attributes quit""".split()

TEXT = "naïve 日本 🐬"
TYPES = ("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), "
         "'" + TEXT + "', NULL, '', X'00FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'")
TYPES_EXPECTED = (42, -2**63, 2**64 - 1, 1.5, decimal.Decimal("12345678901234.567890"), TEXT, None, "",
                  b"\x00\xff'\"\\\n", datetime.date(2026, 11, 16), datetime.datetime(2026, 11, 16, 12, 34, 56, 789012))
NUMBERS = (f"SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM "
           f"{T}_d a, {T}_d b, {T}_d c, {T}_d e, {T}_d f) x ORDER BY n")
SETUP = [f"DROP TABLE IF EXISTS {T}_a, {T}_p, {T}_d", f"DROP PROCEDURE IF EXISTS {T}_two",
         f"CREATE TABLE {T}_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4",
         f"CREATE TABLE {T}_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4",
         f"CREATE TABLE {T}_d (d INT)", f"INSERT INTO {T}_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
         f"CREATE PROCEDURE {T}_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END"]


class Skip(Exception):
    pass


def same(got, expected):
    if got != expected:
        raise AssertionError(f"got {str(got)[:300]!r}, expected {str(expected)[:300]!r}")


def large_text():
    """Text of TG_LARGE_BYTES bytes in which every eight bytes differ, so that a lost, doubled or moved piece shows."""
    return "".join("%08x" % i for i in range(int(os.environ["TG_LARGE_BYTES"]) // 8))


class Driver:
    error = Exception  # the driver's exception class

    def connect(self, **other): raise NotImplementedError
    def ping_once(self, conn): conn.ping()
    def secure(self, conn): return TLS  # whether the connection is encrypted, where the driver tells
    def stream(self, sql): raise Skip("the driver has no unbuffered cursor")
    def connection_id(self, conn): return conn.thread_id()
    def code(self, error): return error.args[0]
    def state(self, error): return None  # the SQLSTATE, where the driver keeps it
    def results(self, cursor):
        """Every result set of what the cursor ran; None for a plain OK."""
        while True:
            yield cursor.fetchall() if cursor.description else None
            if not cursor.nextset():
                return

    def run(self, sql, args=None, conn=None):
        cursor = (conn or self.conn).cursor()
        cursor.execute(sql, args) if args is not None else cursor.execute(sql)
        rows = cursor.fetchall() if cursor.description else None
        self.affected, self.insert_id = cursor.rowcount, cursor.lastrowid
        cursor.close()
        return None if rows is None else [tuple(row) for row in rows]

    def fails(self, call, code, state):
        try:
            call()
        except self.error as error:
            same(self.code(error), code)
            if self.state(error) is not None:
                same(self.state(error), state)
            return
        raise AssertionError(f"no error, expected {code}")

    def is_lost(self, conn):
        """The server ended the connection: within five seconds the next statement fails, with one of the client's own codes."""
        try:
            for _ in range(50):
                self.run("DO SLEEP(0.1)", conn=conn)
        except self.error as error:
            if self.code(error) not in (2006, 2013, 2026, 2055):  # 2026: over TLS
                raise AssertionError(f"lost with {error}") from error
            return
        raise AssertionError("the connection lives on")

    def connect_step(self):
        self.conn = self.connect()
        same(self.secure(self.conn), TLS)
        for statement in SETUP:
            self.run(statement)
        same(self.run("SELECT DATABASE()"), [(DATABASE,)])

    def ping(self):
        for _ in range(3):
            self.ping_once(self.conn)

    def text(self):
        same(self.run(TYPES), [TYPES_EXPECTED])
        same(self.run("SELECT 1 FROM dual WHERE 1 = 0"), [])
        same(self.run(f"INSERT INTO {T}_a (v) VALUES ('one'), ('{TEXT}')"), None)
        same((self.affected, self.insert_id), (2, 1))
        same(self.run(f"UPDATE {T}_a SET v = CONCAT(v, '!') WHERE id = %s AND v = %s", (2, TEXT)), None)
        same(self.affected, 1)
        same(self.run(f"SELECT * FROM {T}_a ORDER BY id"), [(1, "one"), (2, TEXT + "!")])

    def prepared(self): raise Skip("the driver puts parameters into the text itself")
    def cursor(self): raise Skip("the driver has no server-side cursor")
    def long_data(self): raise Skip("the driver does not send long data")

    def transaction(self):
        count = lambda: self.run(f"SELECT COUNT(*) FROM {T}_a WHERE v LIKE 'tx-%%'", ())[0][0]
        self.conn.autocommit(False)
        self.run(f"INSERT INTO {T}_a (v) VALUES ('tx-1')")
        same(count(), 1)
        self.conn.rollback()
        same(count(), 0)
        self.run(f"INSERT INTO {T}_a (v) VALUES ('tx-2')")
        self.conn.commit()
        self.run(f"INSERT INTO {T}_a (v) VALUES ('tx-3')")
        self.conn.rollback()
        self.conn.autocommit(True)
        for statement in ("BEGIN", f"INSERT INTO {T}_a (v) VALUES ('tx-4')", "ROLLBACK"):
            self.run(statement)
        same(self.run(f"SELECT v FROM {T}_a WHERE v LIKE 'tx-_'"), [("tx-2",)])

    def multi_result(self):
        first_two = [[(7, "first")], [(8, "second"), (9, "third")]]
        cursor = self.conn.cursor()
        cursor.execute(f"CALL {T}_two(7)")
        results = [r and [tuple(row) for row in r] for r in self.results(cursor)]
        same(results, first_two + [None])
        cursor.close()
        if self.multi_statements:
            cursor = self.conn.cursor()
            cursor.execute(f"SELECT 1; CALL {T}_two(7); DO 1; SELECT 'x', NULL")
            results = [r and [tuple(row) for row in r] for r in self.results(cursor)]
            same(results, [[(1,)]] + first_two + [None, None, [("x", None)]])
            cursor.close()
        same(self.run("SELECT 5"), [(5,)])

    multi_statements = True

    def large_row(self):
        value = large_text()
        self.run(f"INSERT INTO {T}_p (id, bin) VALUES (1000000, %s)", (value,))
        same(self.run(f"SELECT LENGTH(bin), SHA2(bin, 256) FROM {T}_p WHERE id = 1000000"),
             [(len(value), hashlib.sha256(value.encode()).hexdigest())])
        got = self.run(f"SELECT id, bin, 'after' FROM {T}_p WHERE id = 1000000")
        same(len(got[0][1]), len(value))
        same(got, [(1000000, value.encode(), "after")])
        self.run(f"DELETE FROM {T}_p WHERE id = 1000000")

    def many_rows(self):
        count = 0
        for row in self.stream(NUMBERS):
            if tuple(row) != (count, f"row-{count}"):
                raise AssertionError(f"row {count} is {row}")
            count += 1
        same(count, 100000)
        same(self.run("SELECT 5"), [(5,)])

    def error_step(self):
        for _ in range(2):
            self.fails(lambda: self.run("SELECT 1 FROM"), 1064, "42000")
            self.fails(lambda: self.run(f"INSERT INTO {T}_a (v) VALUES ('one')"), 1062, "23000")
            self.fails(lambda: self.run(f"SELECT * FROM {T}_none"), 1146, "42S02")
            same(self.run("SELECT 5"), [(5,)])

    def forgets(self, call):
        """call() gives the session back as new."""
        self.run("SET @kept = 1")
        call()
        same(self.run("SELECT @kept, DATABASE()"), [(None, DATABASE)])

    def change_user(self): raise Skip("the driver has no change_user")
    def reset_connection(self): raise Skip("the driver has no reset_connection")

    def local_infile(self):
        if self.run("SELECT @@GLOBAL.local_infile")[0][0] != 1:
            raise Skip("the server has local_infile off")
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            for i in range(5000):
                file.write(f"{2000000 + i}\t{i}\t{TEXT} {i}\n")
            file.flush()
            self.run(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {T}_p CHARACTER SET utf8mb4 (id, b, s)")
        same(self.affected, 5000)
        same(self.run(f"SELECT COUNT(*), SUM(b), SUM(s = CONCAT('{TEXT} ', b)) FROM {T}_p WHERE id >= 2000000"),
             [(5000, 12497500, 5000)])

    def warnings(self):
        self.run("SELECT CAST('12abc' AS SIGNED)")
        same([row[1] for row in self.run("SHOW WARNINGS")], [1292])

    def pipelining(self): raise Skip("the driver does not pipeline")

    def cancel(self):
        second = self.connect()
        server_id = self.run("SELECT CONNECTION_ID()")[0][0]
        for victim in (self.connection_id(self.conn), server_id):
            thread = threading.Thread(target=self.kill_when_asleep, args=(second, server_id, victim))
            thread.start()
            begun = time.monotonic()
            try:  # MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error
                same(self.run("SELECT SLEEP(30)"), [(1,)])
            except self.error as error:
                same(self.code(error), 1317)
            thread.join()
            if time.monotonic() - begun > 20:
                raise AssertionError(f"KILL QUERY {victim} did not end the statement")
            same(self.run("SELECT 5"), [(5,)])
        second.close()

    def kill_when_asleep(self, conn, server_id, victim, kill="KILL QUERY"):
        asleep = f"SELECT COUNT(*) FROM {PROCESSES} WHERE id = {server_id} AND state = 'User sleep'"
        while self.run(asleep, conn=conn)[0][0] == 0:
            time.sleep(0.02)
        self.run(f"{kill} {victim}", conn=conn)

    def wrong_password(self):
        self.fails(lambda: self.connect(password="wrong"), 1045, "28000")

    def unknown_database(self):
        self.fails(lambda: self.connect(database=f"{T}_none"), 1049, "42000")

    expected_attributes = {}

    def attributes(self):
        if not self.run("SELECT @@performance_schema")[0][0]:
            raise Skip("the server has performance_schema off")
        got = dict(self.run("SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs "
                            "WHERE processlist_id = CONNECTION_ID()"))
        same({name: got.get(name) for name in self.expected_attributes}, self.expected_attributes)

    def quit(self):
        for statement in SETUP[:2]:
            self.run(statement)
        server_id = self.run("SELECT CONNECTION_ID()")[0][0]
        self.conn.close()
        second, alive = self.connect(), 1
        for _ in range(250):  # the server must see the connection end
            alive = self.run(f"SELECT COUNT(*) FROM {PROCESSES} WHERE id = {server_id}", conn=second)[0][0]
            if not alive:
                break
            time.sleep(0.02)
        second.close()
        same(alive, 0)


def main(driver):
    for step in STEPS:
        try:
            (getattr(driver, step + "_step", None) or getattr(driver, step))()
            print("ok", step, flush=True)
        except Skip as reason:
            print(f"skip {step}: {reason}", flush=True)
        except Exception as error:
            print(f"FAIL {step}: {type(error).__name__}: {error}", flush=True)
            if os.environ.get("TG_TRACE"):
                raise
            os._exit(1)  # a thread may still wait in a statement
    print("done")
    sys.exit(0)
