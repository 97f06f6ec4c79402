"""mysqlclient (MySQLdb), built with Debian's libmariadb: text protocol only. Without TLS libmariadb asks the server for its RSA
key by itself, so a cold caching_sha2_password cache needs no option."""
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import dbapi
import MySQLdb
import MySQLdb.cursors
from MySQLdb.constants import CLIENT


class MySQLClient(dbapi.Driver):
    error = MySQLdb.MySQLError
    expected_attributes = {"_client_name": "libmariadb"}  # it has no option for attributes of one's own

    def connect(self, **other):
        options = dict(user=dbapi.USER, password=dbapi.PASSWORD, database=dbapi.DATABASE, charset="utf8mb4", autocommit=True,
                       local_infile=1, client_flag=CLIENT.MULTI_STATEMENTS)
        options.update(dict(unix_socket=dbapi.SOCKET, host="localhost") if dbapi.SOCKET else dict(host=dbapi.HOST, port=dbapi.PORT))
        options.update(ssl_mode="REQUIRED" if dbapi.TLS else "DISABLED")
        return MySQLdb.connect(**{**options, **other})

    def stream(self, sql):
        cursor = self.conn.cursor(MySQLdb.cursors.SSCursor)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def change_user(self):
        self.forgets(lambda: self.conn.change_user(dbapi.USER, dbapi.PASSWORD, dbapi.DATABASE))
        self.conn.set_character_set("utf8mb4")
        self.conn.autocommit(True)

    def warnings(self):
        super().warnings()
        self.conn.query("SELECT CAST('12abc' AS SIGNED), 1/0")
        self.conn.store_result()
        dbapi.same(self.conn.warning_count(), 2)

    def cancel(self):
        super().cancel()
        victim = self.connect()
        self.conn.kill(victim.thread_id())  # its own means: a KILL of the id that the driver was given
        self.is_lost(victim)
        victim = self.connect()
        server_id = self.run("SELECT CONNECTION_ID()", conn=victim)[0][0]
        thread = threading.Thread(target=self.kill_when_asleep, args=(self.conn, server_id, victim.thread_id(), "KILL"))
        thread.start()
        self.is_lost(victim)  # in the middle of a statement: libmariadb makes 2027 of an ERR with a client's code
        thread.join()


dbapi.main(MySQLClient())
