//! `tollgate health`: what a container's health check runs.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use sandbox::mysql_shared;

use crate::harness::{Tollgate, upstream, wait_until};

/// Whether it found the proxy well, and what it printed.
fn health(address: SocketAddr, arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["health", &address.to_string()])
        .args(arguments)
        .output()
        .expect("running the built binary");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn ready_until_it_drains_and_live_until_it_ends() {
    let primary = &mysql_shared().expect("a server").primary;
    let mut tollgate = Tollgate::start(&format!("{}drain: {{ wait: 60s, deadline: 60s }}\n", upstream(primary)));
    wait_until("ready", || health(tollgate.http, &[]).0);
    assert_eq!(health(tollgate.http, &[]), (true, "ready\n".to_owned()));
    tollgate.signal("TERM");
    wait_until("not ready", || !health(tollgate.http, &[]).0);
    let (_, text) = health(tollgate.http, &[]);
    assert!(text.contains("draining") && text.contains("503"), "{text}");
    assert_eq!(health(tollgate.http, &["--live"]), (true, "live\n".to_owned()));
    // The second wish is to end at once.
    tollgate.signal("INT");
    tollgate.wait();
    let (well, text) = health(tollgate.http, &["--live"]);
    assert!(!well && text.contains("no answer from"), "{text}");
}

#[test]
fn without_its_upstream_it_lives_but_is_not_ready() {
    // Bound and let go: nobody listens there.
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{nobody}\" }}\n"));
    assert!(health(tollgate.http, &["--live"]).0);
    wait_until("the reason is known", || health(tollgate.http, &[]).1.contains("cannot be reached"));
    assert!(!health(tollgate.http, &[]).0);
}
