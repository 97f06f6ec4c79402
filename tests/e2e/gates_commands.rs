//! What operators see of gates: `tollgate gates`, `/gates`, `/metrics`, `explain`, `clients`, the log, and `tollgate grants`.

use std::process::Command;

use sandbox::{ETL, Server};
use serde_json::Value as Json;

use crate::harness::{Raw, Tollgate, read_err, wait_until};

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

/// What a command of the built binary printed.
fn tollgate(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate")).args(words).output().expect("running the built binary");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The same, asking a running proxy.
fn asked(proxy: &Tollgate, words: &[&str]) -> String {
    tollgate(&[words, &["--http", &proxy.http.to_string()]].concat())
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn gates(proxy: &Tollgate) -> Json {
    let (status, body) = proxy.get("/gates");
    assert_eq!(status, 200, "{body}");
    json(&body)
}

/// The item of a list that has this under this key.
fn with<'j>(list: &'j Json, key: &str, value: &str) -> &'j Json {
    let items = list.as_array().expect("a list").iter();
    items.clone().find(|item| item[key] == value).unwrap_or_else(|| panic!("no {key} {value} in {list}"))
}

/// `None` if it passed, else the error's text.
fn write(raw: &mut Raw, sql: &str) -> Option<String> {
    raw.query(sql);
    let first = raw.read().expect("a reply");
    (first.first() == Some(&0xFF)).then(|| read_err(&first).2)
}

/// A number in a table of the test's own, and a gate on it.
struct Level {
    schema: &'static str,
}

impl Level {
    fn new(schema: &'static str) -> Level {
        let prepare = format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema};
             CREATE TABLE {schema}.level (v INT); INSERT INTO {schema}.level VALUES (1);
             CREATE TABLE {schema}.`rows` (v INT); GRANT SELECT ON {schema}.* TO tollgate@'%'"
        );
        primary().root_sql(&prepare).expect("the tables");
        Level { schema }
    }

    fn set(&self, value: &str) {
        primary().root_sql(&format!("UPDATE {}.level SET v = {value}", self.schema)).expect("a level");
    }

    fn insert(&self) -> String {
        format!("INSERT INTO {}.rows VALUES (1)", self.schema)
    }

    /// A proxy whose gate is open.
    fn proxy(&self, rest: &str) -> Tollgate {
        let proxy = Tollgate::start(&format!(
            "upstream: {{ address: \"{}\" }}\n\
             probe: {{ user: tollgate, password: tollgate-pw, idle_after: 1h }}\n\
             defaults: {{ reject_pause: 0s }}\n\
             metrics: {{ level: {{ sql: SELECT v FROM {}.level, interval: 100ms }} }}\n\
             gates:\n  level: {{ threshold: 10, classes: [write], trickle: 0, max_delay: 300ms{rest} }}\n  \
             lock_waits: {{ threshold: 5, mode: warn }}\n",
            primary().address(),
            self.schema
        ));
        await_state(&proxy, "open");
        proxy
    }
}

fn await_state(proxy: &Tollgate, state: &str) {
    wait_until(&format!("the gate is {state}"), || with(&gates(proxy)["gates"], "gate", "level")["state"] == state);
}

#[test]
fn a_closed_gate_is_seen_everywhere() {
    let level = Level::new("e2e_gates_seen");
    let (proxy, insert) = (level.proxy(""), level.insert());
    let mut etl = Raw::login(proxy.address, ETL);
    assert_eq!(write(&mut etl, &insert), None);
    level.set("42");
    await_state(&proxy, "closed");

    // What is measured is put where others see it a few times a second.
    wait_until("everything is measured and published", || {
        let (seen, wanted) = (gates(&proxy), ["threads_running", "connections_used", "history_list_length"]);
        let (metrics, servers) = (seen["metrics"].to_string(), seen["servers"].to_string());
        servers.contains("primary") && wanted.iter().all(|metric| metrics.contains(metric))
    });

    // The command, as a table and as JSON; the latter is what HTTP says.
    let table = asked(&proxy, &["gates"]);
    let row = table.lines().find(|line| line.starts_with("level ")).unwrap_or_else(|| panic!("{table}"));
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["level", "level", "42", "10", "closed", "closed", "enforce", "0", "0"], "{table}");
    for part in ["threads_running", "connections_used", "queue_length", "primary", "MySQL ", "awake\n"] {
        assert!(table.contains(part), "no {part:?} in\n{table}");
    }
    let command = json(&asked(&proxy, &["gates", "--json"]));
    let http = gates(&proxy);
    for gates in [&command["gates"], &http["gates"]] {
        let gate = with(gates, "gate", "level");
        let found = ["metric", "unit", "value", "threshold", "state", "flow", "mode", "control"].map(|key| &gate[key]);
        let expected = serde_json::json!(["level", "count", 42.0, 10.0, "closed", "closed", "enforce", "binary"]);
        assert_eq!(serde_json::json!(found), expected);
        assert!(gate["age_ms"].as_u64().is_some_and(|age| age < 5000), "{gate}");
        assert_eq!(with(gates, "gate", "lock_waits")["mode"], "warn");
    }
    let keys = |json: &Json| json.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&command), keys(&http));
    let server = with(&http["servers"], "role", "primary");
    assert_eq!((&server["server"], &server["read_only"]), (&primary().address().to_string().into(), &false.into()));

    // What the client gets is what was explained.
    let explain = ["explain", "--user", "etl", "--address", "127.0.0.1", &insert];
    let explained = json(&asked(&proxy, &[&explain[..], &["--json"]].concat()));
    let verdict = &explained["verdict"];
    assert_eq!((&verdict["verdict"], &verdict["gate"]), (&"hold".into(), &"level".into()), "{explained}");
    let message = write(&mut etl, &insert).expect("a refusal");
    let begins = |message: &str| message.split(" retry_after").next().expect("a beginning").to_owned();
    assert_eq!(begins(explained["error"]["message"].as_str().expect("a text")), begins(&message));
    assert!(message.contains("rule=- reason=gate:level client=etl"), "{message}");
    let text = asked(&proxy, &explain);
    for part in [
        "waits 300ms at most, then refused",
        "verdict: held at gate level (42 of 10; closed; 0 wait) for 300ms at most, then refused\n",
        "if refused: ERROR 1226 (HY000): [tollgate] rule=- reason=gate:level",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let reads = ["explain", "--user", "etl", "--json", "SELECT * FROM e2e_gates_seen.rows"];
    assert_eq!(json(&asked(&proxy, &reads))["verdict"]["verdict"], "pass");
    let file = proxy.config();
    let of_file = tollgate(&[&explain[..], &["--config", file.to_str().expect("a path")]].concat());
    assert!(of_file.contains("verdict: passes with the leave of gate level (not measured here)\n"), "{of_file}");

    // The counters of the client, and of the gate.
    let clients = asked(&proxy, &["clients"]);
    assert!(clients.contains("gate:level held 1, gate:level rejected 1"), "{clients}");
    let (_, metrics) = proxy.get("/metrics");
    let address = primary().address();
    for line in [
        "tollgate_gate_value{gate=\"level\"} 42".to_owned(),
        "tollgate_gate_threshold{gate=\"level\"} 10".to_owned(),
        "tollgate_gate_state{gate=\"level\",state=\"closed\"} 1".to_owned(),
        "tollgate_gate_state{gate=\"level\",state=\"open\"} 0".to_owned(),
        "tollgate_gate_rate{gate=\"level\"} 0".to_owned(),
        "tollgate_decisions_total{rule=\"level\",reason=\"gate\",effect=\"rejected\"} 1".to_owned(),
        "tollgate_client_rejected_total{client=\"etl\",user=\"etl\"} 1".to_owned(),
        format!("tollgate_metric_value{{metric=\"level\",server=\"{address}\"}} 42"),
        format!("tollgate_server_read_only{{server=\"{address}\",role=\"primary\"}} 0"),
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }

    // The history knows both, and the log said it once.
    let (status, body) = proxy.get("/gates/level/history");
    assert_eq!(status, 200, "{body}");
    let history = json(&body);
    let points = history["points"].as_array().expect("points");
    assert!(points.iter().any(|point| point["high"] == 42.0 && point["state"] == "closed"), "{history}");
    assert!(points.iter().any(|point| point["low"] == 1.0), "{history}");
    let (status, body) = proxy.get("/gates/none/history");
    assert!(status == 404 && body.contains("there are level, lock_waits"), "{body}");
    level.set("1");
    assert_eq!(write(&mut etl, &insert), None);
    wait_until("it is logged", || proxy.log().contains("a gate is open again"));
    let log = proxy.log();
    let said = |words: &str| log.lines().filter(|line| line.contains(words)).map(json).collect::<Vec<_>>();
    let closed = said("a gate is closed");
    assert_eq!(closed.len(), 1, "{log}");
    assert_eq!(
        (&closed[0]["level"], &closed[0]["value"], &closed[0]["threshold"]),
        (&"WARN".into(), &"42".into(), &"10".into())
    );
}

#[test]
fn who_waits_is_seen_and_a_gate_that_gives_up_alarms() {
    let level = Level::new("e2e_gates_given_up");
    let proxy = level.proxy(", max_closed: 6s, on_stale: closed");
    let mut etl = Raw::login(proxy.address, ETL);
    proxy.rewrite(|yaml| yaml.replace("max_delay: 300ms", "max_delay: 1m"));
    proxy.await_generation(2);
    // Nobody can say.
    level.set("NULL");
    await_state(&proxy, "stale");
    let gate = with(&gates(&proxy)["gates"], "gate", "level").clone();
    assert_eq!((&gate["unknown"], &gate["flow"]), (&"null".into(), &"closed".into()), "{gate}");
    assert!(gate["means"].as_str().is_some_and(|means| means.contains("NULL") && means.contains("on_stale")), "{gate}");
    let (_, metrics) = proxy.get("/metrics");
    assert!(
        metrics.contains("tollgate_metric_unknown{metric=\"level\"") && metrics.contains("why=\"null\"} 1"),
        "{metrics}"
    );
    etl.query(&level.insert());
    wait_until("it waits", || with(&gates(&proxy)["gates"], "gate", "level")["waiting"] == 1);
    // Closed for as long as it may be: what waits goes, and somebody is told.
    await_state(&proxy, "given_up");
    assert_ne!(etl.read().expect("a reply").first(), Some(&0xFF));
    let (_, metrics) = proxy.get("/metrics");
    assert!(metrics.contains("tollgate_gate_given_up_total{gate=\"level\"} 1"), "{metrics}");
    wait_until("it is logged", || proxy.log().contains("it lets everything pass"));
    let log = proxy.log();
    let alarms: Vec<Json> = log.lines().filter(|line| line.contains("it lets everything pass")).map(json).collect();
    assert_eq!((alarms.len(), &alarms[0]["level"]), (1, &"ERROR".into()), "{log}");
    level.set("1");
    await_state(&proxy, "open");
}

#[test]
fn the_printed_grants_are_enough_and_hold_no_password() {
    let cluster = sandbox::mysql_shared().expect("a MySQL");
    let proxy_yaml = |replicas: &str| {
        format!(
            "upstream: {{ address: \"{}\", replicas: {replicas} }}\n\
             probe: {{ user: e2e_grants, password: e2e-grants-pw, heartbeat: e2e_grants.heartbeat, idle_after: 1h }}\n",
            cluster.primary.address(),
        )
    };
    let yaml = proxy_yaml(&format!("[\"{}\"]", cluster.replica.address()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.yaml");
    std::fs::write(&path, &yaml).expect("a file");
    let printed = tollgate(&["grants", "--config", path.to_str().expect("a path")]);
    assert!(!printed.contains("e2e-grants-pw") && printed.contains("IDENTIFIED BY <password>;"), "{printed}");
    for unwanted in ["ALL", "SUPER", "GRANT OPTION", "REPLICATION SLAVE"] {
        assert!(!printed.contains(unwanted), "{unwanted} in\n{printed}");
    }
    let maria = tollgate(&["grants", "--mariadb", "--host", "10.0.0.%", "--config", path.to_str().expect("a path")]);
    assert!(maria.contains("REPLICA MONITOR") && maria.contains("'e2e_grants'@'10.0.0.%'"), "{maria}");

    // As an operator would: the password written in, and piped into `mysql`.
    cluster.primary.root_sql("DROP USER IF EXISTS e2e_grants@'%'").expect("nobody yet");
    cluster.primary.root_sql(&printed.replace("<password>", "'e2e-grants-pw'")).expect("the printed statements");
    cluster.wait_for_replica(std::time::Duration::from_secs(30)).expect("the replica");
    let proxy = Tollgate::start(&yaml);
    let known = |seen: &Json, metric: &str| {
        let metrics = seen["metrics"].as_array().expect("metrics");
        metrics.iter().any(|found| found["metric"] == metric && found["state"] == "known")
    };
    let asked = ["replication_lag", "threads_running", "connections_used", "history_list_length", "lock_waits"];
    wait_until("everything is known", || asked.iter().all(|metric| known(&gates(&proxy), metric)));
    let seen = gates(&proxy);
    let denied = seen["metrics"].as_array().expect("metrics").iter().filter(|metric| metric["state"] == "denied");
    assert_eq!(denied.count(), 0, "{seen:#}");
    let replica = with(&seen["servers"], "role", "replica");
    assert_eq!((&replica["replication"], &replica["read_only"]), (&"replicating".into(), &true.into()), "{seen:#}");
    // By heartbeat: milliseconds.
    let lag = with(&seen["metrics"], "metric", "replication_lag");
    assert!(lag["value"].as_f64().is_some_and(|lag| lag < 5.0), "{lag}");
    drop(proxy);
    cluster.primary.root_sql("DROP USER e2e_grants@'%'; DROP DATABASE e2e_grants").expect("nothing left");
}
