/* The steps for C, compiled once with Connector/C (libmariadb) and once, with -DLIBMYSQLCLIENT, with MySQL's libmysqlclient.
 * Without TLS libmariadb asks the server for its RSA key by itself; libmysqlclient does so when MYSQL_OPT_GET_SERVER_PUBLIC_KEY is set. */
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBMYSQLCLIENT
#include <stdbool.h>
typedef bool flag;
#define NAME "libmysql"
#else
typedef my_bool flag;
#define NAME "libmariadb"
#endif
#define TEXT "naïve 日本 🐬"

static MYSQL *conn;
static const char *step_name, *prefix;
static char sql[4096];

static void fail(const char *format, ...) {
  va_list args;
  printf("FAIL %s: ", step_name);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  printf(" [%u %s %s]\n", conn ? mysql_errno(conn) : 0, conn ? mysql_sqlstate(conn) : "", conn ? mysql_error(conn) : "");
  exit(1);
}
#define CHECK(condition) do { if (!(condition)) fail("line %d: %s", __LINE__, #condition); } while (0)

static const char *env(const char *name) { const char *value = getenv(name); return value && *value ? value : NULL; }
static int tls(void) { return !strcmp(getenv("TG_TLS"), "on"); }

/* The statement with every @_ replaced by the table prefix. */
static const char *q(const char *text) {
  char *out = sql;
  for (; *text; text++)
    if (*text == '@' && text[1] == '_') out += sprintf(out, "%s", prefix); /* the _ stays */
    else *out++ = *text;
  *out = 0;
  return sql;
}

static MYSQL *try_connect(const char *password, const char *database) {
  MYSQL *m = mysql_init(NULL);
  unsigned int local = 1;
  unsigned long packet = 64 << 20;
#ifdef LIBMYSQLCLIENT
  unsigned int mode = tls() ? SSL_MODE_REQUIRED : SSL_MODE_DISABLED;
  flag yes = 1;
  mysql_options(m, MYSQL_OPT_SSL_MODE, &mode);
  mysql_options(m, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &yes);
#else
  flag enforce = tls(), verify = 0;
  mysql_options(m, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_options(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#endif
  mysql_options(m, MYSQL_OPT_LOCAL_INFILE, &local);
  mysql_options(m, MYSQL_OPT_MAX_ALLOWED_PACKET, &packet);
  mysql_options(m, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options4(m, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "tollgate-c");
  mysql_real_connect(m, env("TG_SOCKET") ? "localhost" : env("TG_HOST"), env("TG_USER"), password, database, atoi(getenv("TG_PORT")),
                     env("TG_SOCKET"), CLIENT_MULTI_STATEMENTS);
  return m;
}
static MYSQL *connected(void) {
  MYSQL *m = try_connect(getenv("TG_PASSWORD"), env("TG_DATABASE"));
  if (mysql_errno(m)) { conn = m; fail("connect"); }
  return m;
}

/* Rows as one string: fields joined by '|', rows by '/', <null> for NULL; "ok" for no result set, "error" for an error. */
static char *rows_of(MYSQL_RES *result, MYSQL *m) {
  static char out[1 << 20];
  char *end = out;
  if (!result) return mysql_errno(m) ? "error" : "ok";
  *end = 0;
  for (MYSQL_ROW row; (row = mysql_fetch_row(result));) {
    if (end > out) *end++ = '/';
    unsigned long *length = mysql_fetch_lengths(result);
    for (unsigned i = 0; i < mysql_num_fields(result); i++) {
      if (i) *end++ = '|';
      if (row[i]) { memcpy(end, row[i], length[i]); end += length[i]; } else end += sprintf(end, "<null>");
    }
    *end = 0;
  }
  mysql_free_result(result);
  return mysql_errno(m) ? "error" : out; /* an error may come after the column definitions, or after rows */
}
static char *run(MYSQL *m, const char *text) {
  q(text);
  if (mysql_real_query(m, sql, strlen(sql))) return "error";
  return rows_of(mysql_store_result(m), m);
}
static void expect(const char *text, const char *expected) {
  char *got = run(conn, text);
  if (strcmp(got, expected)) fail("%s gave '%.300s', expected '%.300s'", sql, got, expected);
}
static void expect_error(const char *text, unsigned code, const char *state) {
  CHECK(!strcmp(run(conn, text), "error"));
  if (mysql_errno(conn) != code || strcmp(mysql_sqlstate(conn), state)) fail("%s: expected %u %s", sql, code, state);
}
static MYSQL_STMT *prepare(const char *text) {
  MYSQL_STMT *stmt = mysql_stmt_init(conn);
  q(text);
  if (mysql_stmt_prepare(stmt, sql, strlen(sql))) fail("prepare %s: %s", sql, mysql_stmt_error(stmt));
  return stmt;
}
static void execute(MYSQL_STMT *stmt) { if (mysql_stmt_execute(stmt)) fail("execute: %u %s", mysql_stmt_errno(stmt), mysql_stmt_error(stmt)); }
static void bind(MYSQL_BIND *b, int type, void *buffer, unsigned long size, unsigned long *length, flag *null) {
  memset(b, 0, sizeof *b);
  b->buffer_type = type; b->buffer = buffer; b->buffer_length = size; b->length = length; b->is_null = null;
}

static void step_connect(void) {
  conn = connected();
  CHECK(!!mysql_get_ssl_cipher(conn) == tls());
  expect("DROP TABLE IF EXISTS @_a, @_p, @_d", "ok");
  expect("DROP PROCEDURE IF EXISTS @_two", "ok");
  expect("CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4", "ok");
  expect("CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4", "ok");
  expect("CREATE TABLE @_d (d INT)", "ok");
  expect("INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)", "ok");
  expect("CREATE PROCEDURE @_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END", "ok");
}
static void step_ping(void) { for (int i = 0; i < 3; i++) CHECK(!mysql_ping(conn)); CHECK(strstr(mysql_stat(conn), "Uptime")); }

static void step_text(void) {
  expect("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, CAST('12345678901234.567890' AS DECIMAL(20,6)), '" TEXT "', NULL, '', "
         "X'41FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'",
         "42|-9223372036854775808|18446744073709551615|1.5|12345678901234.567890|" TEXT "|<null>||A\xff'\"\\\n|2026-11-16|2026-11-16 12:34:56.789012");
  expect("SELECT 1 FROM dual WHERE 1 = 0", "");
  expect("INSERT INTO @_a (v) VALUES ('one'), ('" TEXT "')", "ok");
  CHECK(mysql_affected_rows(conn) == 2 && mysql_insert_id(conn) == 1 && !strcmp(mysql_info(conn), "Records: 2  Duplicates: 0  Warnings: 0"));
  expect("SELECT * FROM @_a ORDER BY id", "1|one/2|" TEXT);
}


static void step_prepared(void) {
  MYSQL_STMT *stmt = prepare("INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)");
  CHECK(mysql_stmt_param_count(stmt) == 7);
  int id, n; long long b; double d; char s[100], bin[3]; unsigned long s_length, bin_length = 3; flag n_null;
  MYSQL_TIME dt = {.year = 2026, .month = 11, .day = 16, .hour = 1, .minute = 2, .second = 3, .second_part = 456789, .time_type = MYSQL_TIMESTAMP_DATETIME};
  MYSQL_BIND binds[7];
  bind(&binds[0], MYSQL_TYPE_LONG, &id, 0, NULL, NULL);
  bind(&binds[1], MYSQL_TYPE_LONGLONG, &b, 0, NULL, NULL);
  bind(&binds[2], MYSQL_TYPE_DOUBLE, &d, 0, NULL, NULL);
  bind(&binds[3], MYSQL_TYPE_STRING, s, sizeof s, &s_length, NULL);
  bind(&binds[4], MYSQL_TYPE_LONG, &n, 0, NULL, &n_null);
  bind(&binds[5], MYSQL_TYPE_BLOB, bin, 3, &bin_length, NULL);
  bind(&binds[6], MYSQL_TYPE_DATETIME, &dt, sizeof dt, NULL, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, binds));
  for (id = 0; id < 300; id++) {
    b = id * -(1LL << 40); d = id / 8.0; s_length = sprintf(s, TEXT " %d", id); n = id; n_null = id % 3 != 0;
    bin[0] = id; bin[1] = 0; bin[2] = -1;
    execute(stmt);
    CHECK(mysql_stmt_affected_rows(stmt) == 1);
  }
  char text[] = "77", when[] = "2026-11-16 01:02:03.456789"; /* the same statement with other types */
  unsigned long text_length = 2, when_length = sizeof when - 1;
  bind(&binds[1], MYSQL_TYPE_STRING, text, text_length, &text_length, NULL);
  bind(&binds[6], MYSQL_TYPE_STRING, when, when_length, &when_length, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, binds));
  execute(stmt);
  CHECK(!mysql_stmt_close(stmt));
  expect("SELECT b, d, s, n, HEX(bin), dt FROM @_p WHERE id = 300", "77|37.375|" TEXT " 299|<null>|2B00FF|2026-11-16 01:02:03.456789");
}

/* Reads the rows that the prepared step wrote, back over the binary protocol, from `low`; with a cursor if `prefetch` is not 0. */
static void read_back(int low, unsigned long prefetch) {
  MYSQL_STMT *stmt = prepare("SELECT * FROM @_p WHERE id >= ? AND id < 300 ORDER BY id");
  unsigned long type = CURSOR_TYPE_READ_ONLY;
  if (prefetch) {
    CHECK(!mysql_stmt_attr_set(stmt, STMT_ATTR_CURSOR_TYPE, &type));
    CHECK(!mysql_stmt_attr_set(stmt, STMT_ATTR_PREFETCH_ROWS, &prefetch));
  }
  MYSQL_BIND in, binds[7];
  int id, n, row = low; long long b; double d; char s[100], bin[10], expected[100]; unsigned long s_length, bin_length; flag n_null; MYSQL_TIME dt;
  bind(&in, MYSQL_TYPE_LONG, &low, 0, NULL, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, &in));
  bind(&binds[0], MYSQL_TYPE_LONG, &id, 0, NULL, NULL);
  bind(&binds[1], MYSQL_TYPE_LONGLONG, &b, 0, NULL, NULL);
  bind(&binds[2], MYSQL_TYPE_DOUBLE, &d, 0, NULL, NULL);
  bind(&binds[3], MYSQL_TYPE_STRING, s, sizeof s, &s_length, NULL);
  bind(&binds[4], MYSQL_TYPE_LONG, &n, 0, NULL, &n_null);
  bind(&binds[5], MYSQL_TYPE_BLOB, bin, sizeof bin, &bin_length, NULL);
  bind(&binds[6], MYSQL_TYPE_DATETIME, &dt, sizeof dt, NULL, NULL);
  for (int again = 0; again < 2; again++) {
    execute(stmt);
    CHECK(!mysql_stmt_bind_result(stmt, binds));
    for (row = low; !mysql_stmt_fetch(stmt); row++) {
      CHECK(id == row && b == row * -(1LL << 40) && d == row / 8.0 && n_null == (row % 3 != 0) && (n_null || n == row));
      CHECK(s_length == (unsigned long)sprintf(expected, TEXT " %d", row) && !memcmp(s, expected, s_length));
      CHECK(bin_length == 3 && bin[0] == (char)row && bin[1] == 0 && bin[2] == -1 && dt.day == 16 && dt.second_part == 456789);
      if (prefetch && again && row == low + 20) break; /* leave with the cursor open: the close or the reset ends it */
    }
    CHECK(row == (prefetch && again ? low + 20 : 300));
    if (again) CHECK(!mysql_stmt_reset(stmt));
  }
  CHECK(!mysql_stmt_close(stmt));
  expect("SELECT 5", "5");
}
static void step_read_back(void) { read_back(0, 0); read_back(250, 0); }
static void step_cursor(void) { read_back(0, 1); read_back(100, 7); read_back(0, 1000); }

static void step_long_data(void) {
  MYSQL_STMT *stmt = prepare("INSERT INTO @_p (id, s, bin, n) VALUES (?, ?, ?, ?)");
  int id = 5000, n = 9; unsigned long s_length = 6; char piece[256];
  MYSQL_BIND binds[4];
  bind(&binds[0], MYSQL_TYPE_LONG, &id, 0, NULL, NULL);
  bind(&binds[1], MYSQL_TYPE_STRING, "before", 6, &s_length, NULL);
  bind(&binds[2], MYSQL_TYPE_LONG_BLOB, NULL, 0, NULL, NULL);
  bind(&binds[3], MYSQL_TYPE_LONG, &n, 0, NULL, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, binds));
  for (int i = 0; i < 256; i++) piece[i] = i;
  for (; id < 5003; id++) {
    for (int i = 0; i < 400; i++) CHECK(!mysql_stmt_send_long_data(stmt, 2, piece, 256 - i % 2));
    execute(stmt);
  }
  CHECK(!mysql_stmt_send_long_data(stmt, 2, piece, 256)); /* sent, then thrown away */
  CHECK(!mysql_stmt_reset(stmt));
  CHECK(!mysql_stmt_send_long_data(stmt, 2, "kept", 4));
  execute(stmt);
  CHECK(!mysql_stmt_close(stmt));
  expect("SELECT COUNT(*), SUM(s = 'before' AND n = 9), MIN(LENGTH(bin)), COUNT(DISTINCT bin), MAX(HEX(LEFT(bin, 300)) = HEX(SUBSTR(bin, 512, 300))) "
         "FROM @_p WHERE id BETWEEN 5000 AND 5002", "3|3|102200|1|1");
  expect("SELECT bin FROM @_p WHERE id = 5003", "kept");
}

static void step_transaction(void) {
  CHECK(!mysql_autocommit(conn, 0));
  expect("INSERT INTO @_a (v) VALUES ('tx-1')", "ok");
  CHECK(conn->server_status & SERVER_STATUS_IN_TRANS);
  CHECK(!mysql_rollback(conn));
  CHECK(!(conn->server_status & SERVER_STATUS_IN_TRANS));
  expect("INSERT INTO @_a (v) VALUES ('tx-2')", "ok");
  CHECK(!mysql_commit(conn));
  expect("INSERT INTO @_a (v) VALUES ('tx-3')", "ok");
  CHECK(!mysql_rollback(conn) && !mysql_autocommit(conn, 1));
  expect("BEGIN", "ok"); expect("INSERT INTO @_a (v) VALUES ('tx-4')", "ok"); expect("ROLLBACK", "ok");
  expect("SELECT v FROM @_a WHERE v LIKE 'tx-_'", "tx-2");
}

static void more(const char *expected) {
  CHECK(mysql_next_result(conn) == 0);
  char *got = rows_of(mysql_store_result(conn), conn);
  if (strcmp(got, expected)) fail("got '%s', expected '%s'", got, expected);
}
static void step_multi_result(void) {
  expect("CALL @_two(7)", "7|first"); more("8|second/9|third"); more("ok"); CHECK(mysql_next_result(conn) == -1);
  expect("SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL", "1");
  more("7|first"); more("8|second/9|third"); more("ok"); more("ok"); more("x|<null>"); CHECK(mysql_next_result(conn) == -1);
  expect("SELECT 1; SELECT 2 FROM; SELECT 3", "1");
  CHECK(mysql_next_result(conn) == 1 && mysql_errno(conn) == 1064);
  CHECK(!mysql_set_server_option(conn, MYSQL_OPTION_MULTI_STATEMENTS_OFF));
  expect_error("SELECT 1; SELECT 2", 1064, "42000");
  CHECK(!mysql_set_server_option(conn, MYSQL_OPTION_MULTI_STATEMENTS_ON));
  MYSQL_STMT *stmt = prepare("CALL @_two(?)");
  int x = 7, got; MYSQL_BIND in, out[2]; char word[20]; unsigned long length;
  bind(&in, MYSQL_TYPE_LONG, &x, 0, NULL, NULL);
  bind(&out[0], MYSQL_TYPE_LONG, &got, 0, NULL, NULL);
  bind(&out[1], MYSQL_TYPE_STRING, word, sizeof word, &length, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, &in));
  execute(stmt);
  CHECK(!mysql_stmt_bind_result(stmt, out) && !mysql_stmt_fetch(stmt) && got == 7 && length == 5 && mysql_stmt_fetch(stmt) == MYSQL_NO_DATA);
  CHECK(mysql_stmt_next_result(stmt) == 0 && !mysql_stmt_bind_result(stmt, out) && !mysql_stmt_fetch(stmt) && got == 8 && length == 6);
  CHECK(!mysql_stmt_fetch(stmt) && got == 9 && mysql_stmt_fetch(stmt) == MYSQL_NO_DATA);
  CHECK(mysql_stmt_next_result(stmt) == 0 && mysql_stmt_field_count(stmt) == 0 && mysql_stmt_next_result(stmt) == -1);
  CHECK(!mysql_stmt_close(stmt));
}

static void step_large_row(void) { /* every eight bytes differ, so that a lost, doubled or moved piece shows */
  unsigned long size = strtoul(getenv("TG_LARGE_BYTES"), NULL, 10), got = 0;
  char expected[64];
  char *value = malloc(size + 1), *back = calloc(size, 1);
  for (unsigned long i = 0; i < size / 8; i++) sprintf(value + 8 * i, "%08lx", i);
  MYSQL_STMT *stmt = prepare("INSERT INTO @_p (id, bin) VALUES (1000000, ?)");
  MYSQL_BIND b;
  bind(&b, MYSQL_TYPE_LONG_BLOB, value, size, &size, NULL);
  CHECK(!mysql_stmt_bind_param(stmt, &b));
  execute(stmt);
  mysql_stmt_close(stmt);
  q("SELECT bin FROM @_p WHERE id = 1000000");
  CHECK(!mysql_query(conn, sql));
  MYSQL_RES *result = mysql_use_result(conn);
  MYSQL_ROW row = mysql_fetch_row(result);
  CHECK(row && mysql_fetch_lengths(result)[0] == size && !memcmp(row[0], value, size) && !mysql_fetch_row(result));
  mysql_free_result(result);
  stmt = prepare("SELECT bin FROM @_p WHERE id = 1000000");
  bind(&b, MYSQL_TYPE_LONG_BLOB, back, size, &got, NULL);
  execute(stmt);
  CHECK(!mysql_stmt_bind_result(stmt, &b) && !mysql_stmt_fetch(stmt) && got == size && !memcmp(back, value, size));
  mysql_stmt_close(stmt);
  char *insert = malloc(size + 200);
  int head = sprintf(insert, "REPLACE INTO %s_p (id, bin) VALUES (1000000, '", prefix);
  memcpy(insert + head, value, size);
  CHECK(!mysql_real_query(conn, insert, head + size + sprintf(insert + head + size, "')")));
  /* SHA2 would take a library here; the last eight bytes and eight in the second packet of a row over 16 MiB tell as much. */
  sprintf(expected, "%lu|%08lx|%s", size, size / 8 - 1, size > 16777217 ? "00200000" : "");
  expect("SELECT LENGTH(bin), RIGHT(bin, 8), SUBSTR(bin, 16777217, 8) FROM @_p WHERE id = 1000000", expected);
  expect("DELETE FROM @_p WHERE id = 1000000", "ok");
  free(value); free(back); free(insert);
}

static void step_many_rows(void) {
  q("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM @_d a, @_d b, @_d c, @_d e, @_d f) x ORDER BY n");
  CHECK(!mysql_query(conn, sql));
  MYSQL_RES *result = mysql_use_result(conn);
  int count = 0; char expected[20];
  for (MYSQL_ROW row; (row = mysql_fetch_row(result)); count++) {
    sprintf(expected, "row-%d", count);
    CHECK(atoi(row[0]) == count && !strcmp(row[1], expected));
  }
  CHECK(count == 100000);
  mysql_free_result(result);
  expect("SELECT 5", "5");
}

static void step_error(void) {
  for (int i = 0; i < 2; i++) {
    expect_error("SELECT 1 FROM", 1064, "42000");
    expect_error("INSERT INTO @_a (v) VALUES ('one')", 1062, "23000");
    expect_error("SELECT * FROM @_none", 1146, "42S02");
    MYSQL_STMT *stmt = mysql_stmt_init(conn);
    CHECK(mysql_stmt_prepare(stmt, "SELECT ? FROM", 13) && mysql_stmt_errno(stmt) == 1064 && !strcmp(mysql_stmt_sqlstate(stmt), "42000"));
    mysql_stmt_close(stmt);
    expect("SELECT 5", "5");
  }
}

static void step_change_user(void) {
  expect("SET @kept = 1", "ok");
  CHECK(!mysql_change_user(conn, env("TG_USER"), getenv("TG_PASSWORD"), env("TG_DATABASE")));
  char expected[200];
  sprintf(expected, "<null>|%s", env("TG_DATABASE"));
  expect("SELECT @kept, DATABASE()", expected);
  expect("SELECT '" TEXT "'", TEXT);
}
static void step_reset_connection(void) {
  MYSQL_STMT *stmt = prepare("SELECT 1");
  expect("SET @kept = 1", "ok");
  CHECK(!mysql_reset_connection(conn));
  expect("SELECT @kept", "<null>");
  CHECK(mysql_stmt_execute(stmt)); /* the server forgot its statements */
  mysql_stmt_close(stmt);
  CHECK(!mysql_set_character_set(conn, "utf8mb4"));
}

static void step_local_infile(void) {
  if (strcmp(run(conn, "SELECT @@GLOBAL.local_infile"), "1")) { step_name = "the server has local_infile off"; return; }
  char name[] = "/tmp/tollgate-XXXXXX", load[300];
  FILE *file = fdopen(mkstemp(name), "w");
  for (int i = 0; i < 5000; i++) fprintf(file, "%d\t%d\t" TEXT " %d\n", 2000000 + i, i, i);
  fclose(file);
  sprintf(load, "LOAD DATA LOCAL INFILE '%s' INTO TABLE @_p CHARACTER SET utf8mb4 (id, b, s)", name);
  expect(load, "ok");
  unlink(name);
  CHECK(mysql_affected_rows(conn) == 5000);
  expect("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('" TEXT " ', b)) FROM @_p WHERE id >= 2000000", "5000|12497500|5000");
  expect_error("LOAD DATA LOCAL INFILE '/nowhere/at/all' INTO TABLE @_p", 2, "HY000"); /* the client's own error, then an empty packet */
  expect("SELECT 5", "5");
}
static void step_warnings(void) {
  expect("SELECT CAST('12abc' AS SIGNED), 1/0", "12|<null>");
  CHECK(mysql_warning_count(conn) == 2);
  CHECK(strstr(run(conn, "SHOW WARNINGS"), "|1292|") && strstr(run(conn, "SHOW WARNINGS"), "|1365|"));
}

static void step_cancel(void) {
  unsigned long server_id = strtoul(run(conn, "SELECT CONNECTION_ID()"), NULL, 10), victims[] = {mysql_thread_id(conn), server_id};
  for (int i = 0; i < 2; i++) {
    time_t begun = time(NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) { /* the second connection */
      MYSQL *second = connected();
      char asleep[200], kill_it[100];
      sprintf(asleep, "SELECT COUNT(*) FROM %s WHERE id = %lu AND state = 'User sleep'", getenv("TG_PROCESSLIST"), server_id);
      while (strcmp(run(second, asleep), "1")) usleep(20000);
      sprintf(kill_it, "KILL QUERY %lu", victims[i]);
      int ok = !strcmp(run(second, kill_it), "ok");
      mysql_close(second);
      _exit(!ok);
    }
    char *got = run(conn, "SELECT SLEEP(30)"); /* MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error */
    CHECK(!strcmp(got, "1") || mysql_errno(conn) == 1317);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && time(NULL) - begun < 20);
    expect("SELECT 5", "5");
  }
}

static void refused(const char *password, const char *database, unsigned code, const char *state) {
  MYSQL *m = try_connect(password, database);
  if (mysql_errno(m) != code || strcmp(mysql_sqlstate(m), state)) fail("got %u %s %s", mysql_errno(m), mysql_sqlstate(m), mysql_error(m));
  mysql_close(m);
}
static void step_wrong_password(void) { refused("wrong", env("TG_DATABASE"), 1045, "28000"); }
static void step_unknown_database(void) { refused(getenv("TG_PASSWORD"), "tollgate_none", 1049, "42000"); }
static void step_attributes(void) {
  if (strcmp(run(conn, "SELECT @@performance_schema"), "1")) { step_name = "the server has performance_schema off"; return; }
  expect("SELECT GROUP_CONCAT(attr_name, '=', attr_value ORDER BY attr_name) FROM performance_schema.session_connect_attrs "
         "WHERE processlist_id = CONNECTION_ID() AND attr_name IN ('program_name', '_client_name')", "_client_name=" NAME ",program_name=tollgate-c");
}
static void step_quit(void) {
  expect("DROP TABLE @_a, @_p, @_d", "ok");
  expect("DROP PROCEDURE @_two", "ok");
  char gone[200];
  sprintf(gone, "SELECT COUNT(*) FROM %s WHERE id = %s", getenv("TG_PROCESSLIST"), run(conn, "SELECT CONNECTION_ID()"));
  mysql_close(conn);
  conn = connected();
  for (int i = 0; i < 250 && strcmp(run(conn, gone), "0"); i++) usleep(20000);
  expect(gone, "0");
  mysql_close(conn);
}

static void step(const char *name, void (*function)(void)) {
  step_name = name;
  function();
  if (step_name == name) printf("ok %s\n", name); else printf("skip %s: %s\n", name, step_name);
  fflush(stdout);
}

int main(void) {
  prefix = getenv("TG_TABLE");
  step("connect", step_connect);
  step("ping", step_ping);
  step("text", step_text);
  step_name = "prepared"; step_prepared();
  step("prepared", step_read_back);
  step("cursor", step_cursor);
  step("long_data", step_long_data);
  step("transaction", step_transaction);
  step("multi_result", step_multi_result);
  step("large_row", step_large_row);
  step("many_rows", step_many_rows);
  step("error", step_error);
  step("change_user", step_change_user);
  step("reset_connection", step_reset_connection);
  step("local_infile", step_local_infile);
  step("warnings", step_warnings);
  puts("skip pipelining: the library waits for each reply");
  step("cancel", step_cancel);
  step("wrong_password", step_wrong_password);
  step("unknown_database", step_unknown_database);
  step("attributes", step_attributes);
  step("quit", step_quit);
  puts("done");
}
