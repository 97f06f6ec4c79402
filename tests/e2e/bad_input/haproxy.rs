//! Health checks: HAProxy's, as its users configure them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::Watched;
use crate::harness::{Counting, skipped, wait_until};

const CHECKED: &str = "tollgate_checked";

/// A HAProxy whose backends are checked in different ways; ended when dropped.
struct Haproxy {
    child: Child,
    folder: tempfile::TempDir,
}

impl Haproxy {
    /// `backends`: a name, the address to check, and the options for it.
    fn start(backends: &[(&str, std::net::SocketAddr, &str)]) -> Option<Haproxy> {
        let program = find_program()?;
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = format!(
            "global\n  stats socket {}\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n  timeout check 5s\n",
            folder.path().join("stats").display()
        );
        for (name, address, options) in backends {
            text.push_str(&format!("backend {name}\n{options}  server it {address} check inter 200ms rise 2 fall 2\n"));
        }
        let file = folder.path().join("haproxy.cfg");
        std::fs::write(&file, text).expect("its configuration");
        let child = Command::new(program)
            .args(["-db", "-f"])
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starting HAProxy");
        Some(Haproxy { child, folder })
    }

    /// Status and number of checks that failed; `None` while it starts or checks for the first time.
    fn status(&self, backend: &str) -> Option<(String, u64)> {
        let mut socket = UnixStream::connect(self.folder.path().join("stats")).ok()?;
        socket.write_all(b"show stat\n").ok()?;
        let mut text = String::new();
        socket.read_to_string(&mut text).ok()?;
        let mut lines = text.lines();
        let names: Vec<_> = lines.next()?.trim_start_matches("# ").split(',').collect();
        let column = |name| names.iter().position(|found| *found == name);
        let (status, failed, last) = (column("status")?, column("chkfail")?, column("check_status")?);
        let line: Vec<_> = lines.find(|line| line.starts_with(&format!("{backend},it,")))?.split(',').collect();
        // "* " is a check that is under way.
        let known = !line[last].is_empty() && !line[last].contains("INI") && line[status] != "no check";
        known.then(|| (line[status].to_owned(), line[failed].parse().unwrap_or(0)))
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join("haproxy")).find(|program| program.is_file());
    if found.is_none() {
        skipped("HAProxy's checks", "haproxy is not installed (tests/drivers/install gets it)");
    }
    found
}

#[test]
fn checks_that_do_not_log_in_never_reach_the_server() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let counting = Counting::before(mysql.primary.address());
    let watched = Watched::start(&counting.upstream());
    let before = counting.connections();
    let (accepted, through) = (watched.tollgate.counter("connections_accepted"), watched.tollgate.address);
    let Some(haproxy) = Haproxy::start(&[
        ("tcp", through, ""),
        ("tcp_check", through, "  option tcp-check\n  tcp-check connect\n"),
        ("greeting", through, "  option mysql-check\n"),
    ]) else {
        return;
    };
    wait_until("some rounds of checks", || watched.tollgate.counter("connections_accepted") > accepted + 12);
    for backend in ["tcp", "tcp_check", "greeting"] {
        wait_until(&format!("{backend} is up"), || haproxy.status(backend).is_some_and(|(status, _)| status == "UP"));
        assert_eq!(haproxy.status(backend), Some(("UP".to_owned(), 0)), "{backend}");
    }
    drop(haproxy);
    assert_eq!(counting.connections(), before, "a check has reached the server");
    watched.ends_undisturbed();
}

/// HAProxy knows no authentication plugins, so MySQL 9 itself refuses these checks (1251); MariaDB takes them.
#[test]
fn checks_that_log_in_find_the_proxy_up() {
    let mysql = &sandbox::mysql_shared().expect("a MySQL").primary;
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    for (flavor, server) in [("mysql", mysql), ("mariadb", mariadb)] {
        let make = format!("CREATE USER IF NOT EXISTS {CHECKED}@'%' IDENTIFIED BY ''");
        server.root_sql(&make).expect("the user for checks");
        let counting = Counting::before(server.address());
        let watched = Watched::start(&counting.upstream());
        let before = (counting.connections(), watched.tollgate.counter("connections_accepted"));
        let options = format!("  option mysql-check user {CHECKED} post-41\n");
        let Some(haproxy) = Haproxy::start(&[("post", watched.tollgate.address, &options)]) else { return };
        wait_until("some checks", || watched.tollgate.counter("logins_succeeded") > 4);
        wait_until("the backend is up", || haproxy.status("post").is_some_and(|(status, _)| status == "UP"));
        assert_eq!(haproxy.status("post"), Some(("UP".to_owned(), 0)), "{flavor}");
        drop(haproxy);
        wait_until("the checks have ended", || watched.tollgate.sessions() == 1);
        let (touched, checked) =
            (counting.connections() - before.0, watched.tollgate.counter("connections_accepted") - before.1);
        assert!(touched <= checked, "{flavor}: {touched} connections for {checked} checks");
        watched.ends_undisturbed();
    }
}

/// The protocol from before MySQL 4.1, of which HAProxy still has a check, is told that it is too old.
#[test]
fn a_check_of_the_old_protocol_is_refused_with_a_word() {
    let watched = Watched::before_mysql("");
    let options = format!("  option mysql-check user {CHECKED} pre-41\n");
    let Some(haproxy) = Haproxy::start(&[("pre", watched.tollgate.address, &options)]) else { return };
    wait_until("the backend is down", || haproxy.status("pre").is_some_and(|(status, _)| status == "DOWN"));
    drop(haproxy);
    assert!(watched.tollgate.counter("logins_malformed") >= 1);
    watched.ends_undisturbed();
}
