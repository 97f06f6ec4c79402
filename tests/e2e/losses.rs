//! What else may be lost while the proxy runs: `docs/operations.md` has the list. The upstream, the client, descriptors and
//! certificates have tests of their own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use sandbox::{APP, Server};

use crate::harness::{PATIENCE, Raw, Tollgate, mysql_at_socket, upstream, wait_until};

/// What was read stays in force while the file is broken or gone.
#[test]
fn the_configuration_may_be_lost_while_it_runs() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let tollgate = Tollgate::start_in(folder, &upstream(&mysql.primary));
    let mut before = Raw::login(tollgate.address, APP);
    fs::write(&file, "listen: [nonsense").expect("a file that cannot be read as a configuration");
    tollgate.signal("HUP");
    wait_until("the broken file is refused", || tollgate.log().contains("proxy.yaml is refused"));
    fs::remove_file(&file).expect("the configuration");
    tollgate.signal("HUP");
    assert_eq!(before.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(Raw::login(tollgate.address, APP).value("SELECT 2").as_deref(), Some("2"));
}

/// Whoever read the log has gone: nothing that is logged from then on ends a thread.
#[test]
fn the_reader_of_the_log_may_be_lost() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let free =
        || std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let (listen, http) = (free(), free());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    let yaml = format!("{}listen: '{listen}'\nadmin: {{ http: '{http}' }}\n", upstream(&mysql.primary));
    fs::write(&file, &yaml).expect("a file");
    let tollgate = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
        command.args(arguments).current_dir(&folder).env("TOLLGATE_HTTP", http.to_string());
        command
    };
    let mut child = tollgate(&["run"]).stderr(Stdio::piped()).spawn().expect("the built binary");
    drop(child.stderr.take());
    let asks = |arguments: &[&str]| tollgate(arguments).output().expect("the built binary").status.success();
    wait_until("it is ready", || asks(&["health"]));
    fs::write(&file, "listen: [nonsense").expect("a broken file");
    assert!(!asks(&["reload"]), "the file is broken");
    fs::write(&file, &yaml).expect("a file");
    assert!(asks(&["reload"]), "whoever keeps the rules is there");
    assert_eq!(Raw::login(listen, APP).value("SELECT 1").as_deref(), Some("1"));
    child.kill().expect("its end");
    child.wait().expect("its end");
}

/// No step of the wall clock can end, hold or hasten anything but what an operator has dated: nothing else asks for it.
#[test]
fn the_wall_clock_is_asked_for_dates_only() {
    // Of a certificate, and of rules.
    const ALLOWED: [&str; 3] =
        ["relay/src/tls/self_signed.rs", "config/src/load.rs", "tollgate/src/steering/policy.rs"];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in ["wire", "statement", "identity", "rules", "admission", "relay", "config", "admin", "tollgate"] {
        sources(&crates.join(name).join("src"), &mut |path, text| {
            if text.contains("SystemTime") {
                found.push(path.strip_prefix(&crates).expect("below the crates").display().to_string());
            }
        });
    }
    assert_eq!(found, ALLOWED);
}

fn sources(folder: &Path, look: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            sources(&entry, look);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            look(&entry, &fs::read_to_string(&entry).expect("a source"));
        }
    }
}

/// Becomes the command, in a network of its own that has only eight local ports to dial from.
const FEW_PORTS: &str =
    "ip link set lo up && echo 40000 40007 >/proc/sys/net/ipv4/ip_local_port_range && exec \"$0\" \"$@\"";

/// One proxy dials another over TCP in that network, and that one the server over its socket. They are reached by sockets,
/// which no network divides.
struct FewPorts {
    outer: PathBuf,
    _proxies: [Tollgate; 2],
}

impl FewPorts {
    fn before(server: &Server) -> FewPorts {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let outer = folders[0].path().join("outer.sock");
        let [outer_folder, inner_folder] = folders;
        let outer_yaml = format!("listen: {}\nupstream: {{ address: \"127.0.0.1:3306\" }}\n", outer.display());
        let outer_proxy =
            Tollgate::start_under(outer_folder, &["unshare", "--net", "sh", "-c", FEW_PORTS], &outer_yaml);
        let inner_yaml =
            format!("listen: 127.0.0.1:3306\nupstream: {{ address: \"{}\" }}\n", server.socket().display());
        let same_network = format!("--net=/proc/{}/ns/net", outer_proxy.pid());
        let inner_proxy = Tollgate::start_under(inner_folder, &["nsenter", &same_network], &inner_yaml);
        FewPorts { outer, _proxies: [outer_proxy, inner_proxy] }
    }
}

/// A client that keeps its connection, and with it a port, until it is told to go.
struct Keeper(Child);

impl Keeper {
    fn at(server: &Server, socket: &Path) -> Keeper {
        let mut client = server.client("mysql", APP).expect("the client program");
        client.args(["--protocol=socket", "--host=localhost", &format!("--socket={}", socket.display())]);
        // It connects, and then waits for statements.
        let child = client.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Keeper(child.expect("a client"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_client_is_told_when_the_local_ports_are_used_up() {
    let may_unshare = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).status();
    if !may_unshare.is_ok_and(|status| status.success()) {
        eprintln!("skipped: a network of its own needs the right to make one (root), and `ip`");
        return;
    }
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let server = &mysql.primary;
    let few_ports = FewPorts::before(server);
    let ask = || mysql_at_socket(server, &few_ports.outer, APP, &[], "SELECT 'there'");
    assert_eq!(ask().as_deref(), Ok("there"));

    let mut keepers = Vec::new();
    let begin = std::time::Instant::now();
    let error = loop {
        keepers.push(Keeper::at(server, &few_ports.outer));
        thread::sleep(std::time::Duration::from_millis(200));
        match ask() {
            Ok(_) => assert!(begin.elapsed() < PATIENCE, "eight ports are never used up"),
            Err(error) => break error,
        }
    };
    assert!(error.contains("ERROR 1429 (HY000)"), "{error}");
    assert!(error.contains("no local port is left") && error.contains("net.ipv4.ip_local_port_range"), "{error}");
    // As soon as there are ports again, there are sessions.
    drop(keepers);
    wait_until("a port is free", || ask().is_ok());
}
