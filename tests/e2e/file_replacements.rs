//! Files that the proxy reads while it runs, replaced by something that cannot be read or that hangs its reader.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use rcgen::{CertificateParams, KeyPair};
use sandbox::MONITOR;
use serde_json::json;

use crate::harness::{HungMount, Raw, Tollgate, wait_until};

const NOWHERE: &str = "upstream: { address: \"127.0.0.1:1\" }\n";

/// Puts something that is no regular file at a path.
type Put = fn(&Path);

/// What may stand in the place of a file, with the words by which it is reported.
const REPLACEMENTS: [(&str, Put); 5] = [
    ("a named pipe (FIFO)", put_pipe),
    ("a folder", |path| {
        clear(path);
        fs::create_dir(path).expect("a folder");
    }),
    ("a character device", |path| put_link("/dev/zero", path)),
    ("a socket", |path| {
        clear(path);
        // The file of a socket stays when its listener is gone.
        drop(UnixListener::bind(path).expect("a socket"));
    }),
    ("a character device", |path| put_link("/dev/tty", path)),
];

fn clear(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
}

fn put_pipe(path: &Path) {
    clear(path);
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

fn put_link(to: &str, path: &Path) {
    clear(path);
    symlink(to, path).expect("a link");
}

fn put_file(path: &Path, text: &str) {
    let beside = path.with_extension("beside");
    fs::write(&beside, text).expect("a file");
    if path.is_dir() {
        fs::remove_dir(path).expect("the folder");
    }
    fs::rename(&beside, path).expect("renaming it into place");
}

fn rule(id: &str) -> String {
    json!({ "id": id, "match": { "user": id }, "do": { "hold": true }, "for": "1h", "reason": id }).to_string()
}

/// Lines of the log that have all these words.
fn logged(tollgate: &Tollgate, words: &[&str]) -> usize {
    tollgate.log().lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

fn threads(tollgate: &Tollgate) -> usize {
    fs::read_dir(format!("/proc/{}/task", tollgate.pid())).expect("its threads").count()
}

#[test]
fn replaced_configuration_keeps_the_old_plan_until_a_good_file() {
    let tollgate = Tollgate::start(NOWHERE);
    let path = tollgate.config();
    let good = fs::read_to_string(&path).expect("the file");
    for (number, (what, put)) in REPLACEMENTS.iter().enumerate() {
        let refused = logged(&tollgate, &["proxy.yaml is refused", what]);
        put(&path);
        wait_until(what, || logged(&tollgate, &["proxy.yaml is refused", what]) > refused);
        let (status, body) = tollgate.post("/reload", "");
        assert!(status == 400 && body.contains(what) && body.contains("proxy.yaml"), "{status} {body}");
        assert!(body.contains("put a regular file in its place"), "{body}");
        for page in ["/rules", "/clients", "/gates"] {
            assert_eq!(tollgate.get(page).0, 200, "{page}");
        }
        let id = format!("rule-{number}");
        let text =
            format!("{good}rules: [{{ id: {id}, match: {{ user: x }}, do: {{ hold: true }}, permanent: true }}]\n");
        put_file(&path, &text);
        wait_until("the good file is in force", || tollgate.get("/rules").1.contains(&id));
    }
}

#[test]
fn sigterm_after_sighup_with_a_piped_configuration_ends_the_process() {
    let mut tollgate = Tollgate::start(NOWHERE);
    put_pipe(&tollgate.config());
    tollgate.signal("HUP");
    wait_until("the pipe is refused", || logged(&tollgate, &["proxy.yaml is refused", "named pipe"]) > 0);
    tollgate.signal("HUP");
    assert_eq!(tollgate.get("/clients").0, 200);
    tollgate.signal("TERM");
    assert!(tollgate.wait().success());
}

#[test]
fn check_of_a_pipe_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.yaml");
    for (what, put) in REPLACEMENTS {
        if path.is_dir() {
            fs::remove_dir(&path).expect("the folder");
        }
        put(&path);
        let check = Command::new(env!("CARGO_BIN_EXE_tollgate")).arg("check").arg(&path).output().expect("the command");
        let said = String::from_utf8_lossy(&check.stderr);
        assert!(!check.status.success() && said.contains(what) && said.contains("proxy.yaml"), "{said}");
    }
}

#[test]
fn replaced_secret_and_certificate_refuse_the_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let files = [at("secret"), at("proxy.pem"), at("proxy.key"), at("ca.pem")];
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".into()]).expect("parameters").self_signed(&key);
    let pem = certificate.expect("a certificate").pem();
    let contents = ["secret".to_owned(), pem.clone(), key.serialize_pem(), pem];
    files.iter().zip(&contents).for_each(|(path, content)| put_file(path, content));
    let [secret, certificate, key, ca] = files.each_ref().map(|path| path.display());
    let tollgate = Tollgate::start(&format!(
        "{NOWHERE}probe: {{ user: tollgate, password: \"file:{secret}\" }}\n\
         tls: {{ certificate: {certificate}, key: {key}, client_ca: {ca} }}\n"
    ));
    for (path, content) in files.iter().zip(&contents) {
        for (what, put) in REPLACEMENTS {
            put(path);
            let name = path.display().to_string();
            let (status, body) = tollgate.post("/reload", "");
            assert!(status == 400 && body.contains(what) && body.contains(&name), "{status} {body}");
            if path != &files[0] {
                wait_until("the watch reports it", || {
                    logged(&tollgate, &["new certificates cannot be used", what, &name]) > 0
                });
            }
            put_file(path, content);
            assert_eq!(tollgate.post("/reload", "").0, 200);
        }
    }
}

#[test]
fn replaced_rules_file_keeps_the_rules_in_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let tollgate = Tollgate::start_in(folder, NOWHERE);
    assert_eq!(tollgate.post("/rules", &rule("first")).0, 201);
    let path = state.join("rules.json");
    for (number, (what, put)) in REPLACEMENTS.iter().enumerate() {
        let good = fs::read_to_string(&path).expect("the rules");
        put(&path);
        wait_until(what, || logged(&tollgate, &["cannot read", "rules.json", what]) > 0);
        let (status, body) = tollgate.post("/rules", &rule("none"));
        assert!(status == 500 && body.contains(what) && body.contains("rules.json"), "{status} {body}");
        assert!(tollgate.get("/rules").1.contains("first"));
        put_file(&path, &good);
        assert_eq!(tollgate.post("/rules", &rule(&format!("next-{number}"))).0, 201);
        // Neither is opened: one is checked, the other replaced.
        put(&state.join("rules.lock"));
        put(&state.join("rules.json.new"));
        let (status, body) = tollgate.post("/rules", &rule("none"));
        assert!(status == 500 && body.contains(what), "{status} {body}");
        put_file(&state.join("rules.lock"), "");
        if state.join("rules.json.new").is_dir() {
            fs::remove_dir(state.join("rules.json.new")).expect("the folder");
        }
        assert_eq!(tollgate.post("/rules", &rule(&format!("last-{number}"))).0, 201);
    }
}

/// A certificate with its key, on the mount.
fn put_certificate(folder: &Path) {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".into()]).expect("parameters").self_signed(&key);
    put_file(&folder.join("proxy.pem"), &certificate.expect("a certificate").pem());
    put_file(&folder.join("proxy.key"), &key.serialize_pem());
}

fn start_on(mount: &HungMount, folder: tempfile::TempDir, yaml: &str) -> Tollgate {
    let program = mount.program();
    let program: Vec<&str> = program.iter().map(String::as_str).collect();
    Tollgate::start_under(folder, &program, yaml)
}

#[test]
fn hung_mount_of_every_file_leaves_control_and_signals_alive() {
    let Some(mount) = HungMount::new("a hung mount") else { return };
    put_certificate(&mount.path());
    let folder = tempfile::tempdir_in(mount.path()).expect("a folder on the mount");
    let place = mount.path().display().to_string();
    let yaml = format!("{NOWHERE}tls: {{ certificate: {place}/proxy.pem, key: {place}/proxy.key }}\n");
    let mut tollgate = start_on(&mount, folder, &yaml);
    assert_eq!(tollgate.post("/rules", &rule("first")).0, 201);
    mount.hang();
    for words in [&["proxy.yaml is refused"][..], &["state_dir"], &["certificates", "proxy.pem"]] {
        wait_until(&format!("{words:?} are reported"), || {
            logged(&tollgate, &[words, &["does not answer"][..]].concat()) == 1
        });
    }
    assert!(tollgate.get("/rules").1.contains("\"first\""), "rules are shown");
    let (status, body) = tollgate.post("/rules", &rule("second"));
    assert!(status == 500 && body.contains("does not answer"), "{status} {body}");
    let before = threads(&tollgate);
    for _ in 0..50 {
        let (status, body) = tollgate.post("/reload", "");
        assert!(status == 400 && body.contains("does not answer") && body.contains("proxy.yaml"), "{status} {body}");
        tollgate.signal("HUP");
    }
    assert!(threads(&tollgate) <= before, "{} threads, {before} before", threads(&tollgate));
    mount.recover();
    wait_until("a rule can be added", || tollgate.post("/rules", &rule("third")).0 == 201);
    wait_until("the file is read", || tollgate.post("/reload", "").0 == 200);
    let rules = tollgate.get("/rules").1;
    let has = |id: &str| rules.contains(&format!("\"{id}\""));
    assert!(has("first") && has("third") && !has("second"), "{rules}");
    mount.hang();
    assert_eq!(tollgate.post("/reload", "").0, 400);
    tollgate.signal("HUP");
    tollgate.signal("TERM");
    assert!(tollgate.wait().success());
    mount.recover();
}

#[test]
fn good_configuration_replaces_one_with_a_hung_secret() {
    let Some(mount) = HungMount::new("a hung secret") else { return };
    let secret = mount.path().join("secret");
    put_file(&secret, "secret");
    let probe = format!("probe: {{ user: tollgate, password: \"file:{}\" }}\n", secret.display());
    let folder = tempfile::tempdir().expect("a folder");
    let tollgate = start_on(&mount, folder, &format!("{NOWHERE}{probe}"));
    mount.hang();
    let (status, body) = tollgate.post("/reload", "");
    assert!(status == 400 && body.contains("does not answer") && body.contains("/secret"), "{status} {body}");
    let rules = "rules: [{ id: new, match: { user: x }, do: { hold: true }, permanent: true }]\n";
    tollgate.rewrite(|yaml| yaml.replace(&probe, rules));
    wait_until("the new file is in force", || tollgate.get("/rules").1.contains("\"new\""));
}

/// The probe user's connections verify the server by `upstream.ca`. A client that leaves makes one.
#[test]
fn replaced_authorities_fail_the_probe_connection() {
    let server = &sandbox::mysql_shared().expect("a MySQL").primary;
    let folder = tempfile::tempdir().expect("a folder");
    let ca = folder.path().join("ca.pem");
    let pem = fs::read_to_string(server.ca_pem()).expect("the server's authority");
    put_file(&ca, &pem);
    let tollgate = Tollgate::start(&format!(
        "upstream: {{ address: \"{}\", tls: verify_ca, ca: {} }}\n\
         probe: {{ user: tollgate, password: tollgate-pw }}\n",
        server.address(),
        ca.display()
    ));
    let leave = || {
        let mut client = Raw::login(tollgate.address, MONITOR);
        let id = client.value("SELECT CONNECTION_ID()").expect("an id");
        client.query("SELECT SLEEP(600)");
        let state = format!("SELECT INFO FROM performance_schema.processlist WHERE ID = {id}");
        wait_until("it sleeps", || server.root_sql(&state).expect("the processlist").contains("SLEEP"));
        id
    };
    for (what, put) in REPLACEMENTS {
        put(&ca);
        let failed = || logged(&tollgate, &["could not be killed", "upstream.ca", "ca.pem", what]);
        let before = failed();
        let id = leave();
        wait_until(&format!("{what} is reported"), || failed() > before);
        server.root_sql(&format!("KILL {id}")).expect("ending it");
    }
    put_file(&ca, &pem);
    let attempts = || logged(&tollgate, &["could not be killed"]) + tollgate.counter("queries_killed") as usize;
    let (before, unreadable) = (attempts(), logged(&tollgate, &["upstream.ca"]));
    let id = leave();
    wait_until("the good file is read", || attempts() > before);
    assert_eq!(logged(&tollgate, &["upstream.ca"]), unreadable);
    let _ = server.root_sql(&format!("KILL {id}"));
}
