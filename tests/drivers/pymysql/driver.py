"""PyMySQL: pure Python, text protocol only. Without TLS it does caching_sha2_password's RSA exchange by itself, given `cryptography`."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import dbapi
import pymysql
from pymysql.constants import CLIENT


class PyMySQL(dbapi.Driver):
    error = pymysql.MySQLError
    expected_attributes = {"program_name": "tollgate-pymysql", "_client_name": "pymysql"}

    def connect(self, **other):
        options = dict(host=dbapi.HOST, port=dbapi.PORT, unix_socket=dbapi.SOCKET or None, user=dbapi.USER, password=dbapi.PASSWORD,
                       database=dbapi.DATABASE, charset="utf8mb4", autocommit=True, local_infile=True, program_name="tollgate-pymysql",
                       client_flag=CLIENT.MULTI_STATEMENTS, max_allowed_packet=64 * 2**20, use_unicode=True)
        if dbapi.TLS:
            options.update(ssl={"check_hostname": False, "verify_mode": "none"}, ssl_verify_cert=False)
        else:
            options.update(ssl_disabled=True)
        return pymysql.connect(**{**options, **other})

    def ping_once(self, conn):
        conn.ping(reconnect=False)

    def secure(self, conn):
        return type(conn._sock).__name__ == "SSLSocket"

    def stream(self, sql):
        cursor = self.conn.cursor(pymysql.cursors.SSCursor)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def cancel(self):
        super().cancel()
        # Its own means: a KILL of the id that the driver was given.
        victim = self.connect()
        self.conn.kill(victim.thread_id())
        self.is_lost(victim)


dbapi.main(PyMySQL())
