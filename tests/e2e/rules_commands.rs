//! Operators' commands to a running proxy: `tollgate rules`, `incident`, `reload`, `clients`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::{APP, ETL, Server};
use serde_json::{Value as Json, json};

use crate::harness::{Raw, Tollgate, read_err, upstream, wait_until};

const READ: &str = "SELECT COUNT(*) FROM mysql.plugin";

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

/// A proxy that refuses without a pause.
fn started(yaml: &str) -> Tollgate {
    Tollgate::start(&format!("{}defaults: {{ reject_pause: 0s }}\n{yaml}", upstream(primary())))
}

/// What a command printed, and whether it succeeded.
#[derive(Debug)]
struct Said {
    good: bool,
    out: String,
    err: String,
}

impl Said {
    #[track_caller]
    fn good(self) -> String {
        assert!(self.good, "{}{}", self.out, self.err);
        self.out
    }

    #[track_caller]
    fn bad(self) -> String {
        assert!(!self.good, "{}", self.out);
        self.err
    }

    #[track_caller]
    fn json(self) -> Json {
        serde_json::from_str(&self.good()).expect("JSON")
    }
}

fn command(address: SocketAddr, words: &[&str]) -> Said {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(words)
        .args(["--http", &address.to_string()])
        .env("USER", "oncall")
        .output()
        .expect("running the built binary");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    Said { good: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Adds a rule about `etl`, and gives its id.
fn add(tollgate: &Tollgate, words: &[&str]) -> String {
    let added = command(tollgate.http, &[&["rules", "add", "--user", "etl", "--json"], words].concat()).json();
    added["id"].as_str().expect("an id").to_owned()
}

/// The runtime rule with this id, as `rules list` has it.
fn listed(tollgate: &Tollgate, id: &str) -> Option<Json> {
    let all = command(tollgate.http, &["rules", "list", "--json"]).json();
    all["rules"].as_array().expect("rules").iter().find(|rule| rule["id"] == id).cloned()
}

/// `None` if it passed, else the error's code and text.
fn asked(raw: &mut Raw) -> Option<(u16, String)> {
    raw.query(READ);
    answered(raw)
}

fn answered(raw: &mut Raw) -> Option<(u16, String)> {
    let first = raw.read().expect("a reply");
    if first.first() == Some(&0xFF) {
        let (code, _, message) = read_err(&first);
        return Some((code, message));
    }
    // A column, its end, a row, and the end.
    (0..4).for_each(|_| drop(raw.read().expect("the rest")));
    None
}

#[test]
fn a_rule_that_is_added_rejects_and_one_that_is_ended_does_not() {
    let tollgate = started("");
    let (mut etl, mut app) = (Raw::login(tollgate.address, ETL), Raw::login(tollgate.address, APP));
    assert_eq!((asked(&mut etl), asked(&mut app)), (None, None));

    let said = command(
        tollgate.http,
        &[
            "rules",
            "add",
            "--user",
            "etl",
            "--ratio",
            "1",
            "--action",
            "reject",
            "--for",
            "2h",
            "--id",
            "stop-etl",
            "--reason",
            "INC-42: the replicas lag",
        ],
    )
    .good();
    for part in [
        "added stop-etl\n",
        "user=etl",
        "ratio 1, action reject",
        "Z, in ",
        "reason    INC-42: the replicas lag\n",
        "by        oncall@",
        "hits now  etl\n",
    ] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    assert!(!said.contains("app") && !said.contains('\x1b'), "{said}");

    let (code, message) = asked(&mut etl).expect("a refusal");
    assert_eq!(code, 1226, "{message}");
    assert!(message.contains("rule=stop-etl"), "{message}");
    assert_eq!(asked(&mut app), None);

    let table = command(tollgate.http, &["rules", "list"]).good();
    let row = table.lines().find(|line| line.starts_with("stop-etl ")).unwrap_or_else(|| panic!("{table}"));
    for part in ["user=etl", "ratio 1", "enforce", "runtime", "INC-42: the replicas lag"] {
        assert!(row.contains(part), "no {part:?} in {row}");
    }
    let clients = command(tollgate.http, &["clients"]).good();
    assert!(clients.lines().any(|line| line.starts_with("etl ") && line.contains("stop-etl rejected 1")), "{clients}");

    assert!(command(tollgate.http, &["rules", "end", "stop-etl"]).good().starts_with("ended stop-etl"));
    assert_eq!(asked(&mut etl), None);
    assert!(command(tollgate.http, &["rules", "end", "stop-etl"]).bad().contains("no rule added at run time"));
    // What an operator greps for: no value is printed as our types are written.
    let log = tollgate.log();
    let added = log.lines().find(|line| line.contains("a rule was added")).expect("a line");
    let line: Json = serde_json::from_str(added).expect("a line of JSON");
    assert!(
        line["expires"].as_str().is_some_and(|moment| moment.starts_with("20") && moment.ends_with('Z')),
        "{added}"
    );
    assert!(!log.contains("Some(") && !line["by"].as_str().unwrap_or_default().starts_with("unknown@"), "{log}");
}

#[test]
fn ending_a_rule_lets_go_what_it_holds() {
    let tollgate = started("");
    let id = add(&tollgate, &["--hold", "--max-delay", "10m", "--reason", "look first"]);
    let mut etl = Raw::login(tollgate.address, ETL);
    etl.query(READ);
    wait_until("it is held", || tollgate.waiting() == 1);
    let (_, metrics) = tollgate.get("/metrics");
    assert!(metrics.contains("\ntollgate_units_waiting 1\n"), "{metrics}");
    command(tollgate.http, &["rules", "end", &id]).good();
    let ended = Instant::now();
    assert_eq!(answered(&mut etl), None);
    assert!(ended.elapsed() < Duration::from_millis(500), "{:?}", ended.elapsed());
}

#[test]
fn a_rule_is_extended_for_a_new_reason_and_ends_by_itself() {
    let tollgate = started("");
    let id = add(&tollgate, &["--ratio", "1", "--action", "reject", "--for", "3s", "--reason", "first"]);
    let ends = |id: &str| listed(&tollgate, id).expect("the rule")["expires"].as_str().expect("an end").to_owned();
    let first = ends(&id);
    let extend =
        |reason: &str, time: &str| command(tollgate.http, &["rules", "extend", &id, "--for", time, "--reason", reason]);
    assert!(extend(" FIRST. ", "1h").bad().contains("already has this reason"));
    assert!(extend(&"x".repeat(501), "1h").bad().contains("reason"));
    assert_eq!(ends(&id), first);
    assert!(extend("second", "4s").good().starts_with(&format!("extended {id}\n")));
    assert_ne!(ends(&id), first);

    let mut etl = Raw::login(tollgate.address, ETL);
    assert!(asked(&mut etl).is_some());
    wait_until("it has ended", || asked(&mut etl).is_none());
    wait_until("it is gone", || listed(&tollgate, &id).is_none());
    assert!(extend("third", "1h").bad().contains("no rule added at run time"));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let tollgate = started("rules:\n- { id: of-file, match: { user: x }, do: { hold: true }, permanent: true }\n");
    for (words, parts) in [
        (&["rules", "add", "--user", "etl", "--ratio", "1.5"][..], &["do.rejection_ratio: 1.5 is more than 1"][..]),
        (&["rules", "add", "--class", "wrte", "--hold", "--max-delay", "soon"], &["did you mean `write`", "max_delay"]),
        (&["rules", "add", "--user", "etl"], &["do"]),
        (&["rules", "add", "--user", "etl", "--hold", "--id", "of-file"], &["there is a rule `of-file` already"]),
        (&["rules", "end", "of-file"], &["stands in proxy.yaml", "mode: off"]),
        (&["rules", "extend", "of-file", "--for", "1h", "--reason", "r"], &["stands in proxy.yaml", "expires"]),
        (&["rules", "extend", "nobody", "--for", "soon", "--reason", "r"], &["`soon` is not a duration", "1h30m"]),
        (&["incident", "open", "INC 42"], &["id: a name has no spaces"]),
        (&["incident", "open", "INC-42", "--playbook", "none"], &["no playbook `none`"]),
        (&["incident", "close", "INC-42"], &["no incident `INC-42` is open"]),
    ] {
        let said = command(tollgate.http, words).bad();
        for part in parts {
            assert!(said.contains(part), "{words:?}: no {part:?} in\n{said}");
        }
    }
    assert_eq!(asked(&mut Raw::login(tollgate.address, ETL)), None);

    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    assert!(command(nobody, &["rules", "list"]).bad().contains("start one with `tollgate run --config proxy.yaml`"));
    assert!(command(tollgate.address, &["rules", "list"]).bad().contains("6033 is for MySQL clients"));
}

#[test]
fn the_address_may_come_from_the_file() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let tollgate = started(&format!("admin: {{ http: \"0.0.0.0:{}\" }}\n", free.port()));
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["rules", "list", "--config"])
        .arg(tollgate.config())
        .output()
        .expect("running the built binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("RULE "));
}

/// An operator has neither the proxy's environment nor its key.
#[test]
fn commands_take_the_address_from_a_file_whose_secrets_they_cannot_read() {
    let tollgate = started("");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let yaml = format!(
        "upstream: {{ address: db, ca: missing.pem, tls: verify_ca }}\n\
         probe: {{ user: a, password: 'env:TOLLGATE_NOT_SET_ANYWHERE' }}\n\
         tls: {{ certificate: no.pem, key: no.key }}\nadmin: {{ http: '{}' }}\n",
        tollgate.http
    );
    std::fs::write(&file, yaml).expect("a file");
    let run = |arguments: &[&str], variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        let output = command.args(arguments).current_dir(&folder).env("TOLLGATE_HTTP", variable).output();
        output.expect("running the built binary")
    };
    let (there, nowhere) = (tollgate.http.to_string(), "127.0.0.1:1");
    for words in [&["rules", "list"][..], &["clients"], &["gates"], &["health"], &["reload"]] {
        for (option, variable) in
            [(Some(["--config", "proxy.yaml"]), nowhere), (Some(["--http", &there]), nowhere), (None, &*there)]
        {
            let arguments: Vec<&str> = words.iter().copied().chain(option.into_iter().flatten()).collect();
            let output = run(&arguments, variable);
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(!run(words, nowhere).status.success(), "{words:?}");
        let said = String::from_utf8_lossy(&run(words, "nonsense").stderr).into_owned();
        assert!(said.contains("TOLLGATE_HTTP is \"nonsense\""), "{words:?}: {said}");
    }
    let sql = run(&["grants"], nowhere);
    assert!(sql.status.success() && String::from_utf8_lossy(&sql.stdout).contains("IDENTIFIED BY <password>;"));
    assert!(!run(&["grants", "--with-password"], nowhere).status.success(), "that needs the secret");
    let explained = run(&["explain", "--config", "proxy.yaml", "--user", "a", "SELECT 1 FROM t"], nowhere);
    assert!(explained.status.success(), "{}", String::from_utf8_lossy(&explained.stderr));
}

#[test]
fn an_incident_brings_its_playbook_and_takes_it_along() {
    let tollgate = started(
        "playbooks:\n  overload:\n  - { id: no-etl, match: { user: etl }, do: { rejection_ratio: 1 }, action: reject, for: 1h }\n",
    );
    let mut etl = Raw::login(tollgate.address, ETL);
    assert_eq!(asked(&mut etl), None);
    let said =
        command(tollgate.http, &["incident", "open", "INC-42", "--playbook", "overload", "--reason", "lag"]).good();
    assert!(said.starts_with("opened INC-42\nadded no-etl-INC-42\n") && said.contains("hits now  etl\n"), "{said}");
    assert!(asked(&mut etl).is_some_and(|(_, message)| message.contains("rule=no-etl-INC-42")));
    let open = command(tollgate.http, &["incident", "list"]).good();
    assert!(open.lines().any(|line| line.starts_with("INC-42") && line.contains("overload")), "{open}");
    let said = command(tollgate.http, &["incident", "close", "INC-42"]).good();
    for part in ["closed INC-42\n", "ended: no-etl-INC-42", "still at work within the last minute: no-etl-INC-42"] {
        assert!(said.contains(part), "no {part:?} in\n{said}");
    }
    assert_eq!(asked(&mut etl), None);
    assert_eq!(command(tollgate.http, &["incident", "list"]).good(), "no incident is open\n");
}

#[test]
fn a_new_rule_names_those_whom_others_shield() {
    let tollgate = started(
        "rules:\n- { id: app-first, match: { user: app, class: read }, do: { rejection_ratio: 0 }, priority: 5, permanent: true }\n\
         identity: { name: [tag.app, user], trust_claims_of: [] }\n",
    );
    for login in [APP, ETL] {
        assert_eq!(asked(&mut Raw::login(tollgate.address, login)), None);
    }
    // A run-time rule that is milder than the file's: the stricter stands, and that is the file's.
    let said = command(tollgate.http, &["rules", "add", "--scope", "*", "--exempt", "--reason", "r"]).good();
    assert!(said.contains("hits now  etl\n") && said.contains("shielded  app by app-first\n"), "{said}");
    // What is asked is not remembered by its table: it may hit.
    let said = command(tollgate.http, &["rules", "add", "--table", "shop.orders", "--hold", "--reason", "r"]).good();
    assert!(said.contains("hits now  app, etl, when they ask what it names\n"), "{said}");
    // Escaped by silence: said at once.
    let said = command(tollgate.http, &["rules", "add", "--tag", "app=x", "--hold", "--reason", "r"]).good();
    assert!(said.contains("hits now  nobody who has asked so far\n") && said.contains("warning: "), "{said}");
}

#[test]
fn a_rule_that_cannot_be_kept_is_refused_and_the_proxy_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    std::fs::create_dir(&state).expect("a folder");
    let tollgate = started(&format!("state_dir: {}\n", state.display()));
    let id = add(&tollgate, &["--ratio", "1", "--action", "reject", "--reason", "before"]);
    // Root may write whatever the mode says, so the file itself is made one that cannot be replaced.
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o500)).expect("read-only");
    if std::fs::write(state.join("probe"), "").is_ok() {
        std::fs::remove_dir_all(&state).expect("taking the folder away");
        std::fs::write(&state, "not a folder").expect("a file in its place");
    }
    let add = &["rules", "add", "--user", "app", "--hold", "--reason", "after"];
    let said = command(tollgate.http, add).bad();
    assert!(said.contains("the change is not made") && said.contains("state"), "{said}");
    assert!(asked(&mut Raw::login(tollgate.address, ETL)).is_some(), "what was in force stays");
    assert_eq!(asked(&mut Raw::login(tollgate.address, APP)), None);
    assert!(listed(&tollgate, &id).is_some());
    if state.is_dir() {
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).expect("writable again");
    }
}

#[test]
fn a_web_page_is_refused_and_health_is_not() {
    let tollgate = started("");
    let status = |line: &str, headers: &str| {
        let mut stream = TcpStream::connect(tollgate.http).expect("the HTTP port");
        write!(stream, "{line} HTTP/1.1\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n").expect("asking");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        (answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()).expect("a status"), answer)
    };
    // What everybody may ask for, everybody may ask for from anywhere, but by a name of the proxy.
    for (headers, expected, open) in
        [("Host: localhost\r\nOrigin: https://evil.example\r\n", 403, 200), ("Host: evil.example\r\n", 421, 421)]
    {
        for line in ["GET /rules", "POST /rules", "POST /reload", "DELETE /rules/x", "POST /explain", "GET /clients"] {
            let (refused, answer) = status(line, headers);
            assert_eq!(refused, expected, "{line} {headers}");
            assert!(answer.contains("{\"error\":\""), "{answer}");
        }
        for line in ["GET /livez", "GET /metrics"] {
            assert_eq!(status(line, headers).0, open, "{line} {headers}");
        }
    }
    assert_eq!(status("GET /rules", "Host: localhost\r\n").0, 200);
    assert_eq!(status("GET /nowhere", "Host: localhost\r\n").0, 404);
}

#[test]
fn a_reload_says_what_came_of_it() {
    let tollgate = started("rules: []\n");
    let said = command(tollgate.http, &["reload"]).good();
    assert!(said.starts_with("unchanged"), "{said}");
    let metric = |name: &str| {
        let (_, metrics) = tollgate.get("/metrics");
        let line = metrics.lines().find_map(|line| line.strip_prefix(name).map(|value| value.trim().to_owned()));
        line.unwrap_or_else(|| panic!("no {name}"))
    };
    let before: u64 = metric("tollgate_policy_generation ").parse().expect("a number");
    assert_eq!(metric("tollgate_policy_refused "), "0");
    tollgate.rewrite(|yaml| yaml.replace("rules: []", "rules: nonsense"));
    let said = command(tollgate.http, &["reload"]).bad();
    assert!(said.contains("proxy.yaml:") && said.contains("rules"), "{said}");
    assert_eq!(metric("tollgate_policy_refused "), "1");
    assert_eq!(metric("tollgate_policy_generation "), before.to_string());
    tollgate.rewrite(|yaml| {
        let rule = "rules: [{ id: r, match: { user: etl }, do: { hold: true }, expires: 2099-01-01T00:00:00Z }]";
        yaml.replace("rules: nonsense", rule)
    });
    wait_until("it is in force", || listed(&tollgate, "r").is_some());
    assert_eq!(metric("tollgate_policy_refused "), "0");
    assert_eq!(metric("tollgate_policy_generation "), (before + 1).to_string());
    assert_eq!(metric("tollgate_rules{origin=\"file\"} "), "1");
    assert!(metric("tollgate_rule_seconds_left{rule=\"r\"} ").parse::<u64>().is_ok_and(|left| left > 1_000_000));
}

#[test]
fn clients_are_counted_in_the_metrics() {
    let tollgate = started(
        "rules:\n- { id: r, match: { user: etl }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n",
    );
    let (mut etl, mut app) = (Raw::login(tollgate.address, ETL), Raw::login(tollgate.address, APP));
    for _ in 0..3 {
        assert!(asked(&mut etl).is_some());
        assert!(asked(&mut app).is_none());
    }
    let (_, metrics) = tollgate.get("/metrics");
    for line in [
        "tollgate_client_rejected_total{client=\"etl\",user=\"etl\"} 3",
        "tollgate_client_passed_total{client=\"app\",user=\"app\"} 3",
        "tollgate_statements_seen_total 6",
        "tollgate_statements_rejected_total 3",
        "tollgate_statements_hold_seconds_total 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "no {line} in\n{metrics}");
    }
}

/// `explain` against a file: what it printed as JSON.
fn explained_by_file(path: &std::path::Path, words: &[&str]) -> Json {
    let explain = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["explain", "--json", "--config"])
        .arg(path)
        .args(words)
        .output()
        .expect("running the built binary");
    assert!(explain.status.success(), "{}", String::from_utf8_lossy(&explain.stderr));
    serde_json::from_slice(&explain.stdout).expect("JSON")
}

#[test]
fn a_file_and_a_running_proxy_explain_alike_and_as_it_is() {
    let tollgate = started(
        "rules:\n\
         - { id: everyone-yields, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, action: reject, permanent: true }\n\
         - { id: app-first, match: { user: app }, do: { rejection_ratio: 0 }, permanent: true }\n\
         - { id: etl-waits, match: { user: etl, table: mysql.plugin }, do: { hold: true }, max_delay: 1s, permanent: true }\n",
    );
    let cases: [&[&str]; 6] = [
        &["--user", "etl", "--address", "127.0.0.1", READ],
        &["--user", "app", "--address", "127.0.0.1", READ],
        &["--user", "app", "--attr", "program_name=x", "--query-attr", "a=b", "/*app='y'*/ DELETE FROM shop.orders"],
        &["--user", "etl", "--schema", "mysql", "--in-transaction", "UPDATE plugin SET name = 'x'"],
        &["--user", "x", "--holds-locks", "--no-autocommit", "INSERT INTO t VALUES (1)"],
        &["--user", "x", "COMMIT"],
    ];
    for words in cases {
        let running = command(tollgate.http, &[&["explain", "--json"], words].concat()).json();
        assert_eq!(explained_by_file(&tollgate.config(), words), running, "{words:?}");
    }

    let verdict = |words: &[&str]| command(tollgate.http, &[&["explain", "--json"], words].concat()).json();
    let explained = verdict(cases[0]);
    assert_eq!((&explained["class"], &explained["verdict"]["rule"]), (&Json::from("read"), &Json::from("etl-waits")));
    let (code, message) = asked(&mut Raw::login(tollgate.address, ETL)).expect("a refusal");
    let error = &explained["error"];
    assert_eq!(error["code"], code);
    let without_id = |message: &str| message.split(" retry_after").next().expect("a beginning").to_owned();
    assert_eq!(without_id(error["message"].as_str().expect("a text")), without_id(&message));
    assert_eq!(verdict(cases[1])["verdict"]["says"], "passes: app-first lets all pass");
    assert_eq!(asked(&mut Raw::login(tollgate.address, APP)), None);

    // What was added at run time is in the one and not in the other.
    command(tollgate.http, &["rules", "add", "--user", "app", "--hold", "--id", "added", "--reason", "r"]).good();
    assert_eq!(verdict(cases[1])["verdict"]["rule"], "added");
    assert_eq!(explained_by_file(&tollgate.config(), cases[1])["verdict"]["rule"], "app-first");

    let text = command(tollgate.http, &[&["explain"], cases[0]].concat()).good();
    for part in [
        "etl\n  facts ",
        "class        read\n",
        "etl-waits",
        "owns share",
        "app-first",
        "user does not fit: etl",
        "verdict: held by etl-waits for 1s at most, then refused\n",
        "ERROR 1226 (HY000): [tollgate] rule=etl-waits",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    assert!(command(nobody, &[&["explain"], cases[0]].concat()).bad().contains("name it with --config"));
}

/// The narrower rule replaces neither limit of the wider one: see `rules::limits` for how they count.
#[test]
fn explain_names_every_matching_limit() {
    let tollgate = started(
        "rules:\n\
         - { id: wide, match: { user: etl }, do: { max_concurrency: 2, max_connections: 20 }, permanent: true }\n\
         - { id: narrow, match: { user: etl, class: read }, do: { max_concurrency: 3 }, permanent: true }\n\
         - { id: local, match: { user: etl, address: 127.0.0.1 }, do: { max_connections: 30 }, permanent: true }\n\
         - { id: others, match: { user: app }, do: { max_concurrency: 1, max_connections: 1 }, permanent: true }\n",
    );
    let question = ["--user", "etl", "--address", "127.0.0.1", READ];
    let running = command(tollgate.http, &[&["explain", "--json"], &question[..]].concat()).json();
    assert_eq!(explained_by_file(&tollgate.config(), &question), running);
    assert_eq!(running["owners"]["max_concurrency"], json!(["wide", "narrow"]), "{running:#}");
    let counting = |limit: &str| -> Vec<&Json> {
        let rules = running["judgements"][0]["rules"].as_array().expect("rules").iter();
        rules
            .filter(|rule| rule["owns"].as_array().expect("fields").contains(&json!(limit)))
            .map(|rule| &rule["rule"])
            .collect()
    };
    assert_eq!(counting("max_concurrency"), ["wide", "narrow"], "{running:#}");
    assert_eq!(counting("max_connections"), ["wide", "local"], "{running:#}");
    let places: Vec<(&Json, &Json)> = running["verdict"]["places"]
        .as_array()
        .expect("places")
        .iter()
        .map(|place| (&place["rule"], &place["limit"]))
        .collect();
    assert_eq!(places, [(&json!("wide"), &json!(2)), (&json!("narrow"), &json!(3))], "{running:#}");

    let text = command(tollgate.http, &[&["explain"], &question[..]].concat()).good();
    for (rule, says) in [
        ("wide", "matches; its max_concurrency and max_connections count"),
        ("narrow", "matches; its max_concurrency counts"),
        ("local", "matches; its max_connections counts"),
        ("others", "user does not fit: etl"),
    ] {
        let row = text.lines().find(|line| line.starts_with(rule)).unwrap_or_else(|| panic!("no {rule} in\n{text}"));
        assert!(row.ends_with(says), "{row}");
    }
    let verdict = text.lines().find(|line| line.starts_with("verdict: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(verdict.contains("wide") && verdict.contains("narrow") && !verdict.contains("others"), "{verdict}");
}

#[test]
fn a_digest_is_learnt_from_the_server() {
    let grant = "GRANT SELECT ON performance_schema.* TO tollgate@'%'";
    primary().root_sql(grant).expect("a grant");
    let probe = "probe: { user: tollgate, password: tollgate-pw }\n";
    let tollgate = started(probe);
    // A statement of this test's own, which the server has seen.
    let sql = "SELECT COUNT(*), 'digest', 4711 FROM mysql.plugin WHERE 1 = 0";
    let mut app = Raw::login(tollgate.address, APP);
    let ask = |raw: &mut Raw, sql: &str| {
        raw.query(sql);
        let first = raw.read().expect("a reply");
        let refused = first.first() == Some(&0xFF);
        let columns = if refused { 0 } else { usize::from(first[0]) };
        // Columns, their end, a row, and the end.
        (0..if refused { 0 } else { columns + 3 }).for_each(|_| drop(raw.read().expect("the rest")));
        refused
    };
    assert!(!ask(&mut app, sql));
    let find = format!("SELECT STATEMENT_DIGEST(\"{sql}\")");
    let digest = primary().root_sql(&find).expect("a digest").trim().to_owned();
    assert_eq!(digest.len(), 64, "{digest}");
    let add =
        ["rules", "add", "--fingerprint", &digest, "--ratio", "1", "--action", "reject", "--id", "d", "--reason", "r"];
    command(tollgate.http, &add).good();
    wait_until("it is learnt", || ask(&mut app, &sql.replace("4711", "42")));
    assert!(!ask(&mut app, "SELECT COUNT(*), 'digest' FROM mysql.plugin WHERE 1 = 0"), "another statement");
    assert!(listed(&tollgate, "d").expect("the rule").get("unknown_digests").is_none());
    // One that nobody has ever run.
    let unknown = "f".repeat(64);
    let said =
        command(tollgate.http, &["rules", "add", "--fingerprint", &unknown, "--hold", "--id", "u", "--reason", "r"]);
    assert!(said.good().contains("digest    not known yet"));
    let table = command(tollgate.http, &["rules", "list"]).good();
    let row = table.lines().find(|line| line.starts_with("u ")).unwrap_or_else(|| panic!("{table}"));
    assert!(row.contains("digest not known yet"), "{row}");
}
