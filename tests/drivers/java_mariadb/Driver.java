// MariaDB Connector/J. Without TLS, allowPublicKeyRetrieval lets it ask the server for its RSA key on a cold caching_sha2_password cache.
import java.io.ByteArrayInputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.*;
import java.util.*;

public class Driver {
    interface Step { void run() throws Exception; }
    static class Skip extends Exception { Skip(String reason) { super(reason); } }

    static final String T = env("TG_TABLE"), TEXT = "naïve 日本 🐬";
    static final boolean TLS = env("TG_TLS").equals("on");
    static Connection c;

    static String env(String name) { return System.getenv().getOrDefault(name, ""); }
    static String q(String sql) { return sql.replace("@_", T + "_"); }

    static Connection attempt(String password, String database, String... more) throws SQLException {
        Properties p = new Properties();
        p.setProperty("user", env("TG_USER"));
        p.setProperty("password", password);
        p.setProperty("allowPublicKeyRetrieval", "true");
        p.setProperty("allowMultiQueries", "true");
        p.setProperty("allowLocalInfile", "true");
        p.setProperty("useServerPrepStmts", "true");
        p.setProperty("connectionAttributes", "program_name:tollgate-java");
        if (TLS) { p.setProperty("useSsl", "true"); p.setProperty("trustServerCertificate", "true"); }
        if (!env("TG_SOCKET").isEmpty()) p.setProperty("localSocket", env("TG_SOCKET"));
        for (String option : more) p.setProperty(option.split("=")[0], option.split("=")[1]);
        return DriverManager.getConnection("jdbc:mariadb://" + env("TG_HOST") + ":" + env("TG_PORT") + "/" + database, p);
    }
    static Connection connect(String... more) throws SQLException { return attempt(env("TG_PASSWORD"), env("TG_DATABASE"), more); }

    static void same(Object got, Object expected) {
        if (!Objects.deepEquals(got, expected)) throw new AssertionError("got " + cut(got) + ", expected " + cut(expected));
    }
    static String cut(Object o) { String s = String.valueOf(o); return s.substring(0, Math.min(400, s.length())); }

    /** Rows as text: fields joined by '|', rows by '/', null for NULL. */
    static String read(ResultSet rs) throws SQLException {
        StringJoiner rows = new StringJoiner("/");
        while (rs.next()) {
            StringJoiner row = new StringJoiner("|");
            for (int i = 1; i <= rs.getMetaData().getColumnCount(); i++) row.add(String.valueOf(rs.getString(i)));
            rows.add(row.toString());
        }
        return rows.toString();
    }
    static String query(Connection on, String sql) throws SQLException {
        try (Statement s = on.createStatement()) { return read(s.executeQuery(q(sql))); }
    }
    static String query(String sql) throws SQLException { return query(c, sql); }
    static int run(String sql) throws SQLException { try (Statement s = c.createStatement()) { return s.executeUpdate(q(sql)); } }
    static void fails(int code, String state, Step step) throws Exception {
        try { step.run(); } catch (SQLException e) { same(e.getErrorCode() + " " + e.getSQLState(), code + " " + state); return; }
        throw new AssertionError("no error, expected " + code);
    }
    static List<String> results(Statement s, boolean isRows) throws SQLException {
        List<String> all = new ArrayList<>();
        for (boolean rows = isRows; rows || s.getUpdateCount() != -1; rows = s.getMoreResults()) all.add(rows ? read(s.getResultSet()) : "ok");
        return all;
    }

    static void connectStep() throws Exception {
        c = connect();
        run("DROP TABLE IF EXISTS @_a, @_p, @_d");
        run("DROP PROCEDURE IF EXISTS @_two");
        run("CREATE TABLE @_a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100) UNIQUE) CHARSET utf8mb4");
        run("CREATE TABLE @_p (id INT PRIMARY KEY, b BIGINT, d DOUBLE, s TEXT, n INT, bin LONGBLOB, dt DATETIME(6)) CHARSET utf8mb4");
        run("CREATE TABLE @_d (d INT)");
        run("INSERT INTO @_d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
        run("CREATE PROCEDURE @_two(x INT) BEGIN SELECT x, 'first'; SELECT x+1, 'second' UNION ALL SELECT x+2, 'third'; END");
    }
    static void ping() throws Exception { for (int i = 0; i < 3; i++) same(c.isValid(5), true); }

    static void text() throws Exception {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT 42, -9223372036854775808, 18446744073709551615, 1.5e0, "
                + "CAST('12345678901234.567890' AS DECIMAL(20,6)), '" + TEXT + "', NULL, '', X'00FF27225C0A', DATE'2026-11-16', TIMESTAMP'2026-11-16 12:34:56.789012'")) {
            same(r.next(), true);
            same(List.of(r.getInt(1), r.getLong(2), new BigInteger(r.getString(3)), r.getDouble(4), r.getBigDecimal(5), r.getString(6), r.getString(8)),
                List.of(42, Long.MIN_VALUE, new BigInteger("18446744073709551615"), 1.5, new BigDecimal("12345678901234.567890"), TEXT, ""));
            same(r.getObject(7), null);
            same(r.getBytes(9), new byte[] {0, -1, '\'', '"', '\\', '\n'});
            same(r.getDate(10), java.sql.Date.valueOf("2026-11-16"));
            same(r.getTimestamp(11), Timestamp.valueOf("2026-11-16 12:34:56.789012"));
            same(r.next(), false);
        }
        same(query("SELECT 1 FROM dual WHERE 1 = 0"), "");
        try (Statement s = c.createStatement()) {
            same(s.executeUpdate(q("INSERT INTO @_a (v) VALUES ('one'), ('" + TEXT + "')"), Statement.RETURN_GENERATED_KEYS), 2);
            ResultSet keys = s.getGeneratedKeys();
            same(keys.next() && keys.getInt(1) == 1, true);
        }
        same(query("SELECT * FROM @_a ORDER BY id"), "1|one/2|" + TEXT);
    }

    static void setRow(PreparedStatement p, int i) throws SQLException {
        p.setInt(1, i); p.setLong(2, -((long) i << 40)); p.setDouble(3, i / 8.0); p.setString(4, TEXT + " " + i);
        if (i % 3 == 0) p.setInt(5, i); else p.setNull(5, Types.INTEGER);
        p.setBytes(6, new byte[] {(byte) i, 0, -1}); p.setTimestamp(7, Timestamp.valueOf("2026-11-16 01:02:03.456789"));
    }
    static void checkRow(ResultSet r, int i) throws SQLException {
        same(List.of(r.getInt(1), r.getLong(2), r.getDouble(3), r.getString(4)), List.of(i, -((long) i << 40), i / 8.0, TEXT + " " + i));
        same(r.getObject(5), i % 3 == 0 ? (Object) i : null);
        same(r.getBytes(6), new byte[] {(byte) i, 0, -1});
        same(r.getTimestamp(7), Timestamp.valueOf("2026-11-16 01:02:03.456789"));
    }
    static void prepared() throws Exception {
        try (PreparedStatement p = c.prepareStatement(q("INSERT INTO @_p VALUES (?, ?, ?, ?, ?, ?, ?)"))) {
            for (int i = 0; i < 300; i++) { setRow(p, i); same(p.executeUpdate(), 1); }
            p.setString(1, "300"); p.setString(2, "77"); p.setInt(3, 1); p.setInt(4, 12); p.setString(5, "5"); p.setString(6, "text");
            p.executeUpdate(); // the same statement with other types
        }
        same(query("SELECT id, b, d, s, n, bin, CAST(dt AS CHAR) FROM @_p WHERE id = 300"), "300|77|1.0|12|5|text|2026-11-16 01:02:03.456789".replace("1.0", query("SELECT 1e0")));
        try (PreparedStatement p = c.prepareStatement(q("SELECT * FROM @_p WHERE id >= ? AND id < 300 ORDER BY id"))) {
            for (int low : new int[] {0, 100, 1000}) {
                p.setInt(1, low);
                int i = low;
                try (ResultSet r = p.executeQuery()) { for (; r.next(); i++) checkRow(r, i); }
                same(i, Math.max(300, low));
            }
        }
    }
    static void cursor() throws Exception { throw new Skip("the driver streams but has no server-side cursor"); }

    static void longData() throws Exception {
        byte[] value = new byte[102400];
        for (int i = 0; i < value.length; i++) value[i] = (byte) i;
        try (PreparedStatement p = c.prepareStatement(q("INSERT INTO @_p (id, s, bin, n) VALUES (?, 'before', ?, 9)"))) {
            for (int id = 5000; id < 5003; id++) { p.setInt(1, id); p.setBinaryStream(2, new ByteArrayInputStream(value)); same(p.executeUpdate(), 1); }
        }
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(q("SELECT bin, n FROM @_p WHERE id BETWEEN 5000 AND 5002"))) {
            for (int i = 0; i < 3; i++) { same(r.next(), true); same(r.getBytes(1), value); same(r.getInt(2), 9); }
        }
    }
    static void transaction() throws Exception {
        c.setAutoCommit(false);
        run("INSERT INTO @_a (v) VALUES ('tx-1')");
        c.rollback();
        run("INSERT INTO @_a (v) VALUES ('tx-2')");
        c.commit();
        run("INSERT INTO @_a (v) VALUES ('tx-3')");
        Savepoint point = c.setSavepoint("p");
        run("INSERT INTO @_a (v) VALUES ('tx-4')");
        c.rollback(point);
        c.commit();
        c.setAutoCommit(true);
        run("BEGIN"); run("INSERT INTO @_a (v) VALUES ('tx-5')"); run("ROLLBACK");
        same(query("SELECT v FROM @_a WHERE v LIKE 'tx-_' ORDER BY v"), "tx-2/tx-3");
    }
    static void multiResult() throws Exception {
        try (CallableStatement s = c.prepareCall(q("{CALL @_two(?)}"))) { s.setInt(1, 7); same(results(s, s.execute()).subList(0, 2), List.of("7|first", "8|second/9|third")); }
        try (Statement s = c.createStatement()) {
            same(results(s, s.execute(q("SELECT 1; CALL @_two(7); DO 1; SELECT 'x', NULL"))), List.of("1", "7|first", "8|second/9|third", "ok", "ok", "x|null"));
        }
    }
    static void largeRow() throws Exception { // every eight bytes differ, so that a lost, doubled or moved piece shows
        byte[] value = new byte[Integer.parseInt(env("TG_LARGE_BYTES"))], digits = "0123456789abcdef".getBytes();
        for (int i = 0; i < value.length; i++) value[i] = digits[(i / 8 >> 4 * (7 - i % 8)) & 15];
        try (PreparedStatement p = c.prepareStatement(q("INSERT INTO @_p (id, bin) VALUES (1000000, ?)"))) { p.setBytes(1, value); p.executeUpdate(); }
        run("INSERT INTO @_p (id, bin) VALUES (1000001, '" + new String(value, StandardCharsets.US_ASCII) + "')");
        String hash = String.format("%064x", new BigInteger(1, MessageDigest.getInstance("SHA-256").digest(value)));
        same(query("SELECT COUNT(*) FROM @_p WHERE id >= 1000000 AND SHA2(bin, 256) = '" + hash + "'"), "2");
        for (Statement s : List.of(c.createStatement(), c.prepareStatement(q("SELECT bin, 'after' FROM @_p WHERE id = 1000000")))) {
            ResultSet r = s instanceof PreparedStatement ? ((PreparedStatement) s).executeQuery() : s.executeQuery(q("SELECT bin, 'after' FROM @_p WHERE id = 1000001"));
            same(r.next() && Arrays.equals(r.getBytes(1), value) && r.getString(2).equals("after"), true);
            s.close();
        }
        run("DELETE FROM @_p WHERE id >= 1000000");
    }
    static void manyRows() throws Exception {
        try (Statement s = c.createStatement()) {
            s.setFetchSize(100); // streams
            ResultSet r = s.executeQuery(q("SELECT n, CONCAT('row-', n) FROM (SELECT a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM @_d a, @_d b, @_d c, @_d e, @_d f) x ORDER BY n"));
            int count = 0;
            for (; r.next(); count++) if (r.getInt(1) != count || !r.getString(2).equals("row-" + count)) throw new AssertionError("row " + count + " is " + r.getString(2));
            same(count, 100000);
        }
    }
    static void error() throws Exception {
        for (int i = 0; i < 2; i++) {
            fails(1064, "42000", () -> query("SELECT 1 FROM"));
            fails(1062, "23000", () -> run("INSERT INTO @_a (v) VALUES ('one')"));
            fails(1146, "42S02", () -> query("SELECT * FROM @_none"));
            fails(1146, "42S02", () -> { // a failed PREPARE; the driver then tries it as text
                try (PreparedStatement p = c.prepareStatement(q("SELECT * FROM @_none WHERE 1 = ?"))) { p.setInt(1, 1); p.executeQuery(); }
            });
            same(query("SELECT 5"), "5");
        }
    }
    static void changeUser() throws Exception { throw new Skip("the driver has no change_user"); }
    static void resetConnection() throws Exception {
        if (!env("TG_FLAVOR").equals("mariadb")) throw new Skip("the driver resets only MariaDB");
        try (Connection other = connect("useResetConnection=true")) {
            query(other, "SELECT @kept := 1");
            ((org.mariadb.jdbc.MariaDbConnection) other).reset();
            same(query(other, "SELECT @kept"), "null");
        }
    }
    static void localInfile() throws Exception {
        if (!query("SELECT @@GLOBAL.local_infile").equals("1")) throw new Skip("the server has local_infile off");
        Path file = Files.createTempFile("tollgate", "");
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 5000; i++) lines.append(2000000 + i).append('\t').append(i).append('\t').append(TEXT).append(' ').append(i).append('\n');
        Files.writeString(file, lines);
        same(run("LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE @_p CHARACTER SET utf8mb4 (id, b, s)"), 5000);
        Files.delete(file);
        same(query("SELECT COUNT(*), SUM(b), SUM(s = CONCAT('" + TEXT + " ', b)) FROM @_p WHERE id >= 2000000"), "5000|12497500|5000");
    }
    static void warnings() throws Exception {
        try (Statement s = c.createStatement()) {
            s.executeQuery("SELECT CAST('12abc' AS SIGNED), 1/0");
            SQLWarning first = s.getWarnings(); // a second call would find none
            same(first.getErrorCode() + " " + first.getNextWarning().getErrorCode(), "1292 1365");
        }
    }
    static void pipelining() throws Exception { // batches in every way that the driver has
        int base = 3000000;
        for (String option : List.of("useBatchMultiSend=true", "useBulkStmts=true", "rewriteBatchedStatements=true", "useServerPrepStmts=false")) {
            boolean bulk = option.startsWith("useBulk");
            try (Connection other = connect(option, bulk ? "useBatchMultiSend=false" : "useBulkStmts=false");
                 PreparedStatement p = other.prepareStatement(q("INSERT INTO @_p (id, b, s) VALUES (?, ?, ?)"))) {
                for (int i = 0; i < 1000; i++) { p.setInt(1, base + i); p.setLong(2, i); p.setString(3, TEXT + " " + i); p.addBatch(); }
                int[] counts = p.executeBatch();
                same(counts.length, 1000);
                for (int n : counts) same(n == 1 || n == Statement.SUCCESS_NO_INFO, true);
                same(query(other, "SELECT COUNT(*), SUM(b), SUM(s = CONCAT('" + TEXT + " ', b) AND b = id - " + base + ") FROM @_p WHERE id >= " + base), "1000|499500|1000");
                for (int i = 0; i < 10; i++) { p.setInt(1, base + (i == 5 ? 0 : 2000 + i)); p.setLong(2, i); p.setString(3, "x"); p.addBatch(); } // one fails
                fails(1062, "23000", p::executeBatch);
                same(query(other, "SELECT 5"), "5");
            }
            base += 10000;
        }
        try (Statement s = c.createStatement()) {
            for (int i = 0; i < 100; i++) s.addBatch(q("INSERT INTO @_p (id, b) VALUES (" + (base + i) + ", 1)"));
            same(Arrays.stream(s.executeBatch()).sum(), 100);
        }
    }
    static void asleep(Connection on, String id) throws Exception {
        while (query(on, "SELECT COUNT(*) FROM " + env("TG_PROCESSLIST") + " WHERE id = " + id + " AND state = 'User sleep'").equals("0")) Thread.sleep(20);
    }
    static void interrupted(String what, Step sleep) throws Exception { // MySQL ends an interrupted SLEEP with 1 and no error, MariaDB with an error
        long begun = System.nanoTime();
        try { sleep.run(); } catch (SQLException e) { same(e.getErrorCode() == 1317 || e instanceof SQLTimeoutException || e.getErrorCode() == 1969, true); }
        if (System.nanoTime() - begun > 20_000_000_000L) throw new AssertionError(what + " did not end the statement");
        same(query("SELECT 5"), "5");
    }
    static void cancel() throws Exception {
        String id = query("SELECT CONNECTION_ID()");
        try (Connection second = connect()) {
            String given = String.valueOf(((org.mariadb.jdbc.MariaDbConnection) c).getServerThreadId());
            for (String victim : List.of(given, id)) {
                Thread killer = new Thread(() -> { try { asleep(second, id); query(second, "KILL QUERY " + victim); } catch (Exception e) { System.out.println("second: " + e); } });
                killer.start();
                interrupted("KILL QUERY " + victim, () -> same(query("SELECT SLEEP(30)"), "1"));
                killer.join();
            }
            try (Statement s = c.createStatement()) {
                Thread canceller = new Thread(() -> { try { asleep(second, id); s.cancel(); } catch (Exception e) { System.out.println("cancel: " + e); } });
                canceller.start();
                interrupted("Statement.cancel", () -> same(read(s.executeQuery("SELECT SLEEP(30)")), "1"));
                canceller.join();
            }
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                interrupted("setQueryTimeout", () -> same(read(s.executeQuery("SELECT SLEEP(30)")), "1"));
            }
        }
    }
    static void wrongPassword() throws Exception { fails(1045, "28000", () -> attempt("wrong", env("TG_DATABASE"))); }
    static void unknownDatabase() throws Exception { fails(1049, "42000", () -> attempt(env("TG_PASSWORD"), T + "_none")); }
    static void attributes() throws Exception {
        if (!query("SELECT @@performance_schema").equals("1")) throw new Skip("the server has performance_schema off");
        same(query("SELECT attr_name, attr_value FROM performance_schema.session_connect_attrs WHERE processlist_id = CONNECTION_ID() "
            + "AND attr_name IN ('program_name', '_client_name') ORDER BY attr_name"), "_client_name|MariaDB Connector/J/program_name|tollgate-java");
    }
    static void quit() throws Exception {
        run("DROP TABLE @_a, @_p, @_d");
        run("DROP PROCEDURE @_two");
        String gone = "SELECT COUNT(*) FROM " + env("TG_PROCESSLIST") + " WHERE id = " + query("SELECT CONNECTION_ID()");
        c.close();
        c = connect();
        for (int i = 0; i < 250 && !query(gone).equals("0"); i++) Thread.sleep(20);
        same(query(gone), "0");
        c.close();
    }

    public static void main(String[] args) {
        Map<String, Step> steps = new LinkedHashMap<>();
        steps.put("connect", Driver::connectStep); steps.put("ping", Driver::ping); steps.put("text", Driver::text); steps.put("prepared", Driver::prepared);
        steps.put("cursor", Driver::cursor); steps.put("long_data", Driver::longData); steps.put("transaction", Driver::transaction);
        steps.put("multi_result", Driver::multiResult); steps.put("large_row", Driver::largeRow); steps.put("many_rows", Driver::manyRows);
        steps.put("error", Driver::error); steps.put("change_user", Driver::changeUser); steps.put("reset_connection", Driver::resetConnection);
        steps.put("local_infile", Driver::localInfile); steps.put("warnings", Driver::warnings); steps.put("pipelining", Driver::pipelining);
        steps.put("cancel", Driver::cancel); steps.put("wrong_password", Driver::wrongPassword); steps.put("unknown_database", Driver::unknownDatabase);
        steps.put("attributes", Driver::attributes); steps.put("quit", Driver::quit);
        for (Map.Entry<String, Step> step : steps.entrySet()) {
            try { step.getValue().run(); System.out.println("ok " + step.getKey()); }
            catch (Skip e) { System.out.println("skip " + step.getKey() + ": " + e.getMessage()); }
            catch (Throwable e) {
                System.out.println("FAIL " + step.getKey() + ": " + e);
                if (System.getenv("TG_TRACE") != null) e.printStackTrace(System.out);
                System.exit(1);
            }
        }
        System.out.println("done");
        System.exit(0);
    }
}
