/* A refused EXECUTE leaves the statement whole: with TG_EXPECT_REFUSAL=1 the first EXECUTE of each connection must fail with 1226 HY000, and the
 * same statement, executed again without binding again, must succeed and write its row once. libmariadb sends the parameter types with its first
 * EXECUTE only, whatever the answer, so whoever refused it must have kept them (else the server says 1210); and long data that was sent before a
 * refused EXECUTE must be thrown away, since the client sends it again (else it is doubled). Compiled like driver.c, once for each library. */
#include <mysql.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIBMYSQLCLIENT
#include <stdbool.h>
typedef bool flag;
#else
typedef my_bool flag;
#endif

static MYSQL *conn;
static const char *step = "connect";
static char sql[1000];

static void fail(const char *format, ...) {
  va_list args;
  printf("FAIL %s: ", step);
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  puts("");
  exit(1);
}
static const char *env(const char *name) { const char *value = getenv(name); return value && *value ? value : NULL; }

static void connect_again(void) {
  int tls = !strcmp(getenv("TG_TLS"), "on");
  if (conn) mysql_close(conn);
  conn = mysql_init(NULL);
#ifdef LIBMYSQLCLIENT
  unsigned int mode = tls ? SSL_MODE_REQUIRED : SSL_MODE_DISABLED;
  flag yes = 1;
  mysql_options(conn, MYSQL_OPT_SSL_MODE, &mode);
  mysql_options(conn, MYSQL_OPT_GET_SERVER_PUBLIC_KEY, &yes);
#else
  flag enforce = tls, verify = 0;
  mysql_options(conn, MYSQL_OPT_SSL_ENFORCE, &enforce);
  mysql_options(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
#endif
  if (!mysql_real_connect(conn, env("TG_SOCKET") ? "localhost" : env("TG_HOST"), env("TG_USER"), getenv("TG_PASSWORD"), env("TG_DATABASE"),
                          atoi(getenv("TG_PORT")), env("TG_SOCKET"), 0)) fail("%s", mysql_error(conn));
}
static void run(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(sql, sizeof sql, format, args);
  va_end(args);
  if (mysql_query(conn, sql)) fail("%s: %u %s", sql, mysql_errno(conn), mysql_error(conn));
}
static void expect(const char *table, const char *expected) {
  run("SELECT GROUP_CONCAT(id, ':', COALESCE(s, 'null'), ':', LENGTH(bin), ':', LEFT(SHA2(bin, 256), 8) ORDER BY id SEPARATOR ' ') FROM %s", table);
  MYSQL_RES *result = mysql_store_result(conn);
  MYSQL_ROW row = mysql_fetch_row(result);
  if (!row[0] || strcmp(row[0], expected)) fail("the table holds '%s', expected '%s'", row[0] ? row[0] : "nothing", expected);
  mysql_free_result(result);
}

static void attempt(const char *name, int long_data) {
  int refusal = env("TG_EXPECT_REFUSAL") && !strcmp(env("TG_EXPECT_REFUSAL"), "1"), id = 1;
  char table[200], s[] = "text", bin[] = "abcdefgh";
  unsigned long s_length = 4, bin_length = 8;
  flag s_null = 0;
  step = name;
  connect_again();
  snprintf(table, sizeof table, "%s_%s", env("TG_TABLE"), name);
  run("DROP TABLE IF EXISTS %s", table);
  run("CREATE TABLE %s (id INT PRIMARY KEY, s TEXT, bin LONGBLOB)", table);
  snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?, ?, ?)", table);
  MYSQL_STMT *stmt = mysql_stmt_init(conn);
  if (mysql_stmt_prepare(stmt, sql, strlen(sql))) fail("prepare: %s", mysql_stmt_error(stmt));
  MYSQL_BIND binds[3];
  memset(binds, 0, sizeof binds);
  binds[0].buffer_type = MYSQL_TYPE_LONG; binds[0].buffer = &id;
  binds[1].buffer_type = MYSQL_TYPE_STRING; binds[1].buffer = s; binds[1].buffer_length = 4; binds[1].length = &s_length; binds[1].is_null = &s_null;
  binds[2].buffer_type = MYSQL_TYPE_LONG_BLOB; binds[2].buffer = bin; binds[2].buffer_length = 8; binds[2].length = &bin_length;
  if (mysql_stmt_bind_param(stmt, binds)) fail("bind: %s", mysql_stmt_error(stmt));
  for (int execution = 0; execution < 4; execution++) { /* the first and its retry, then two more with other values, bound only once */
    if (execution == 1 && !refusal) continue;
    if (execution >= 2) { id = execution; s_null = execution == 3; }
    if (long_data) for (int i = 0; i < 1000; i++)
      if (mysql_stmt_send_long_data(stmt, 2, bin, 8)) fail("long data: %s", mysql_stmt_error(stmt));
    int failed = mysql_stmt_execute(stmt);
    if (execution == 0 && refusal) {
      if (!failed) fail("the first execution was not refused");
      if (mysql_stmt_errno(stmt) != 1226 || strcmp(mysql_stmt_sqlstate(stmt), "HY000"))
        fail("refused with %u %s, expected 1226 HY000", mysql_stmt_errno(stmt), mysql_stmt_sqlstate(stmt));
      if (env("TG_WAIT")) { printf("refused %s\n", name); fflush(stdout); getchar(); }
    } else if (failed) fail("execution %d: %u %s %s", execution, mysql_stmt_errno(stmt), mysql_stmt_sqlstate(stmt), mysql_stmt_error(stmt));
    else if (mysql_stmt_affected_rows(stmt) != 1) fail("execution %d affected no row", execution);
  }
  mysql_stmt_close(stmt);
  expect(table, long_data ? "1:text:8000:95704ea3 2:text:8000:95704ea3 3:null:8000:95704ea3" : "1:text:8:9c56cc51 2:text:8:9c56cc51 3:null:8:9c56cc51");
  run("DROP TABLE %s", table);
  printf("ok %s\n", name);
  fflush(stdout);
}

int main(void) {
  attempt("plain", 0);
  attempt("long_data", 1);
  mysql_close(conn);
  puts("done");
}
