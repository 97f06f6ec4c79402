// HikariCP over MariaDB Connector/J: it drops a connection on SQLSTATE 08…, and on some codes that it knows.
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.*;

public class AfterRejection {
    interface Use { void on(Connection c) throws SQLException; }
    static final String TABLE = System.getenv("TG_TABLE");
    static HikariDataSource pool;

    static void same(Object got, Object expected) {
        if (!got.equals(expected)) throw new AssertionError("got " + got + ", expected " + expected);
    }
    static long id() throws SQLException {
        try (Connection c = pool.getConnection(); Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT CONNECTION_ID()")) {
            r.next();
            return r.getLong(1);
        }
    }
    static void refused(Use use) throws SQLException {
        try (Connection c = pool.getConnection()) {
            try {
                use.on(c);
            } catch (SQLException e) {
                same(e.getErrorCode() + " " + e.getSQLState(), "1226 HY000");
                if (!e.getMessage().contains("[tollgate] rule=no-writes reason=ratio client=")) throw new AssertionError(e.getMessage());
                return;
            }
            throw new AssertionError("it was not refused");
        }
    }
    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:mariadb://" + System.getenv("TG_HOST") + ":" + System.getenv("TG_PORT") + "/" + System.getenv("TG_DATABASE")
            + "?allowPublicKeyRetrieval=true&useServerPrepStmts=true");
        config.setUsername(System.getenv("TG_USER"));
        config.setPassword(System.getenv("TG_PASSWORD"));
        config.setMaximumPoolSize(1);
        pool = new HikariDataSource(config);
        long id = id();
        refused(c -> { try (Statement s = c.createStatement()) { s.executeUpdate("INSERT INTO " + TABLE + " (batch) VALUES (1)"); } });
        same(id(), id);
        System.out.println("ok text");
        refused(c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO " + TABLE + " (batch) VALUES (?)")) { s.setInt(1, 1); s.executeUpdate(); }
        });
        same(id(), id);
        System.out.println("ok prepared");
        refused(c -> {
            c.setAutoCommit(false);
            try (Statement s = c.createStatement()) {
                s.executeQuery("SELECT COUNT(*) FROM " + TABLE).close();
                s.executeUpdate("INSERT INTO " + TABLE + " (batch) VALUES (1)");
            } finally {
                c.rollback();
                c.setAutoCommit(true);
            }
        });
        System.out.println("ok transaction");
        same(id(), id);
        System.out.println("ok same_connection");
        pool.close();
        System.out.println("done");
    }
}
