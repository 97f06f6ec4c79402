//! Rules on tables see through views, routines and triggers, before a real MySQL and a real MariaDB.

use std::process::Command;

use sandbox::{APP, Flavor, Server};

use crate::harness::{Raw, Tollgate, upstream, wait_until};
use crate::rules::{Answer, run};

fn servers() -> [&'static Server; 2] {
    [&sandbox::mysql_shared().expect("a MySQL").primary, sandbox::mariadb_shared().expect("a MariaDB")]
}

/// A schema of a test's own on one server.
struct Place {
    server: &'static Server,
    schema: &'static str,
}

impl Place {
    fn new(server: &'static Server, schema: &'static str) -> Place {
        let place = Place { server, schema };
        place.direct(&format!("DROP DATABASE IF EXISTS {schema}"));
        place.direct(&format!("CREATE DATABASE {schema}"));
        for table in ["secret", "pub", "audit"] {
            place.direct(&format!("CREATE TABLE {schema}.{table} (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"));
        }
        place
    }

    /// Runs a statement on the server itself; `@` stands for the schema.
    fn direct(&self, sql: &str) {
        let sql = sql.replace('@', self.schema);
        assert_eq!(run(&mut Raw::login(self.server.address(), APP), &sql), Answer::Done, "{sql}");
    }

    /// A proxy whose probe user has the privileges that `tollgate grants` prints as optional.
    fn seeing(&self, interval: &str, rule: &str) -> Tollgate {
        let yaml = self.yaml("seer", interval, rule);
        let printed = printed_grants(&yaml, self.server.flavor());
        let granted = printed.replace("<password>", "'probe-pw'").replace("-- GRANT", "GRANT");
        self.server.root_sql(&granted).expect("the printed statements");
        let tollgate = Tollgate::start(&yaml);
        self.await_catalogue(&tollgate);
        tollgate
    }

    /// A proxy whose probe user may see nothing.
    fn blind(&self, rule: &str) -> Tollgate {
        let sql = "CREATE USER IF NOT EXISTS blind@'%' IDENTIFIED BY 'probe-pw'";
        self.server.root_sql(sql).expect("a user");
        let tollgate = Tollgate::start(&self.yaml("blind", "1h", rule));
        self.await_catalogue(&tollgate);
        tollgate
    }

    fn await_catalogue(&self, tollgate: &Tollgate) {
        wait_until("the catalogue", || tollgate.log().contains("read the server's catalogue"));
    }

    fn yaml(&self, user: &str, interval: &str, rule: &str) -> String {
        format!(
            "{}probe: {{ user: {user}, password: probe-pw, catalogue_interval: {interval} }}\n\
             defaults: {{ action: reject, reject_pause: 0s }}\n\
             rules: [{{ id: stop, {}, do: {{ rejection_ratio: 1 }}, permanent: true }}]\n",
            upstream(self.server),
            rule.replace('@', self.schema)
        )
    }

    fn asks(&self, tollgate: &Tollgate, sql: &str) -> Answer {
        run(&mut Raw::login(tollgate.address, APP), &sql.replace('@', self.schema))
    }

    fn is_refused(&self, tollgate: &Tollgate, sql: &str) -> bool {
        self.asks(tollgate, sql).is_refused()
    }

    fn await_refusal(&self, tollgate: &Tollgate, sql: &str) {
        wait_until(sql, || self.is_refused(tollgate, sql));
    }
}

fn printed_grants(yaml: &str, flavor: Flavor) -> String {
    printed(
        yaml,
        if flavor == Flavor::Mariadb { &["grants", "--mariadb", "--config"] } else { &["grants", "--config"] },
    )
}

/// What a command prints for a file, and that it succeeds.
fn printed(yaml: &str, command: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    std::fs::write(&file, yaml).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).args(command).arg(&file).output().expect("the binary");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

const ON_SECRET: &str = "match: { table: @.secret }";

#[test]
fn table_rule_sees_through_objects() {
    for server in servers() {
        let place = Place::new(server, "cat_through");
        for sql in [
            "CREATE VIEW @.v1 AS SELECT id FROM @.secret",
            "CREATE VIEW @.v2 AS SELECT v1.id FROM @.v1 JOIN @.pub USING (id)",
            "CREATE VIEW @.harmless AS SELECT id, v AS secret FROM @.pub",
            "CREATE FUNCTION @.f() RETURNS INT DETERMINISTIC READS SQL DATA RETURN (SELECT COUNT(*) FROM @.secret)",
            "CREATE VIEW @.vf AS SELECT @.f() AS x",
            "CREATE PROCEDURE @.p() BEGIN DELETE FROM secret WHERE id = 0; END",
            "CREATE PROCEDURE @.q() BEGIN CALL p(); END",
            "CREATE PROCEDURE @.read_it() BEGIN CALL p(); END",
            "CREATE PROCEDURE @.mild() BEGIN SELECT COUNT(*) FROM pub; END",
            "CREATE TRIGGER @.t BEFORE INSERT ON @.pub FOR EACH ROW INSERT INTO secret (v) VALUES (1)",
        ] {
            place.direct(sql);
        }
        let tollgate = place.seeing("1h", ON_SECRET);
        for sql in [
            "SELECT id FROM @.secret",
            "SELECT id FROM @.v1",
            "SELECT id FROM @.v2",
            "SELECT x FROM @.vf",
            "SELECT @.f()",
            "CALL @.p()",
            "CALL @.q()",
            // The server compares the names of routines without accents.
            "CALL @.r\u{e9}ad_it()",
            "INSERT INTO @.pub (v) VALUES (1)",
            "UPDATE @.v1 SET id = id",
        ] {
            assert!(place.is_refused(&tollgate, sql), "{:?} passed: {sql}", server.flavor());
        }
        for sql in
            ["SELECT id FROM @.pub", "SELECT secret FROM @.harmless", "CALL @.mild()", "SELECT COUNT(*) FROM @.audit"]
        {
            assert_eq!(place.asks(&tollgate, sql), Answer::Done, "{:?}: {sql}", server.flavor());
        }
        let mut raw = Raw::login(tollgate.address, APP);
        assert_eq!(run(&mut raw, "USE cat_through"), Answer::Done);
        assert!(run(&mut raw, "SELECT id FROM v2").is_refused(), "a name of the session's schema");
        assert!(run(&mut raw, "PREPARE s FROM 'SELECT id FROM v2'") == Answer::Done);
        assert!(run(&mut raw, "EXECUTE s").is_refused(), "prepared text");
        assert_eq!(run(&mut raw, "SET sql_mode = ANSI_QUOTES"), Answer::Done);
        assert!(run(&mut raw, "CALL \"q\"()").is_refused(), "a name in double quotes");
    }
}

#[test]
fn later_objects_are_seen() {
    for server in servers() {
        let place = Place::new(server, "cat_later");
        let on_read = "match: { table: @.secret, class: read }";
        // Through the proxy: at once, long before the timer.
        let tollgate = place.seeing("1h", on_read);
        let create = "CREATE VIEW @.made AS SELECT id FROM @.secret";
        assert_eq!(place.asks(&tollgate, create), Answer::Done);
        place.await_refusal(&tollgate, "SELECT id FROM @.made");
        let create = "CREATE PROCEDURE @.maker() CREATE VIEW @.called AS SELECT id FROM @.secret";
        assert_eq!(place.asks(&tollgate, create), Answer::Done);
        // What it does is known once the catalogue has been read.
        wait_until("the procedure", || place.asks(&tollgate, "CALL @.maker()") == Answer::Done);
        place.await_refusal(&tollgate, "SELECT id FROM @.called");
        // On the server itself: by the timer.
        let tollgate = place.seeing("100ms", on_read);
        place.direct("CREATE VIEW @.direct AS SELECT id FROM @.secret");
        place.await_refusal(&tollgate, "SELECT id FROM @.direct");
        place.direct("CREATE OR REPLACE VIEW @.direct AS SELECT id FROM @.pub");
        wait_until("the changed view", || !place.is_refused(&tollgate, "SELECT id FROM @.direct"));
    }
}

#[test]
fn reading_view_that_writes_is_write() {
    for server in servers() {
        let place = Place::new(server, "cat_writes");
        for sql in [
            "CREATE FUNCTION @.f() RETURNS INT DETERMINISTIC BEGIN INSERT INTO audit (v) VALUES (1); RETURN 1; END",
            "CREATE VIEW @.writes AS SELECT id, @.f() AS x FROM @.pub",
            "CREATE VIEW @.locks AS SELECT GET_LOCK('cat', 0) AS x",
            "CREATE VIEW @.reads AS SELECT id FROM @.pub",
        ] {
            place.direct(sql);
        }
        let tollgate = place.seeing("1h", "match: { class: write, user: app }");
        for sql in ["SELECT id FROM @.writes", "SELECT x FROM @.locks"] {
            assert!(place.is_refused(&tollgate, sql), "{:?} passed: {sql}", server.flavor());
        }
        assert_eq!(place.asks(&tollgate, "SELECT id FROM @.reads"), Answer::Done);
    }
}

#[test]
fn unseen_catalogue_is_said_and_matches_on_request() {
    for server in servers() {
        let place = Place::new(server, "cat_blind");
        place.direct("CREATE VIEW @.v1 AS SELECT id FROM @.secret");
        let through = "SELECT id FROM @.v1";
        let ignoring = place.blind(ON_SECRET);
        assert_eq!(place.asks(&ignoring, through), Answer::Done, "nothing is guessed");
        assert!(place.is_refused(&ignoring, "SELECT id FROM @.secret"));
        let matching = place.blind(&format!("{ON_SECRET}, unknown_tables: match"));
        assert!(place.is_refused(&matching, through), "{:?}", server.flavor());
        assert_eq!(place.asks(&matching, "SELECT 1 + 1"), Answer::Done, "no name is in doubt");
        // Who sees everything is not concerned by unknown names.
        let seeing = place.seeing("1h", &format!("{ON_SECRET}, unknown_tables: match"));
        assert_eq!(place.asks(&seeing, "SELECT id FROM @.pub"), Answer::Done);
        assert!(place.is_refused(&seeing, "SELECT id FROM @.nowhere"));

        let said = printed(&place.yaml("blind", "1h", ON_SECRET), &["check", "--connect"]);
        for unseen in ["tables of some schemas", "views", "routines", "triggers"] {
            assert!(said.contains(&format!("warning: blind cannot see {unseen}")), "{unseen}: {said}");
        }
        let said = printed(&place.yaml("seer", "1h", ON_SECRET), &["check", "--connect"]);
        assert!(said.contains("catalogue of ") && !said.contains("cannot see"), "{said}");
    }
}

/// Piped into a client as they are, with the password of the file; without it, nothing is run.
#[test]
fn grants_run_as_they_are_printed() {
    for server in servers() {
        let place = Place::new(server, "cat_grants");
        let (user, mariadb) = ("granted_user", server.flavor() == Flavor::Mariadb);
        let yaml = place.yaml(user, "1h", ON_SECRET);
        server.root_sql(&format!("DROP USER IF EXISTS {user}@'%'")).expect("no user");
        let option: &[&str] = if mariadb { &["--mariadb"] } else { &[] };
        let without = printed(&yaml, &[&["grants"][..], option, &["--config"]].concat());
        assert!(server.root_sql(&without).is_err(), "it is an error until the password is in");
        let users = format!("SELECT COUNT(*) FROM mysql.user WHERE user = '{user}'");
        assert_eq!(server.root_sql(&users).expect("a count").trim(), "0");
        let with = printed(&yaml, &[&["grants", "--with-password"][..], option, &["--config"]].concat());
        // Also where the user is there with another password.
        server.root_sql(&format!("CREATE USER {user}@'%' IDENTIFIED BY 'other'")).expect("a user");
        server.root_sql(&with).expect("the printed statements");
        assert!(printed(&yaml, &["check", "--connect"]).contains("catalogue of "), "it may log in");
    }
}
