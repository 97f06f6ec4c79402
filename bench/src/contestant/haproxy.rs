//! HAProxy in TCP mode as its users run it: no option set, threads as it chooses them.

use super::Ground;
use crate::child::{Child, Output};
use anyhow::Result;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

pub(super) fn start(program: &Path, listen: SocketAddr, ground: Ground<'_>) -> Result<Child> {
    let file = ground.folder.join(format!("haproxy-{}.cfg", listen.port()));
    fs::write(&file, config(listen, ground.upstream))?;
    // -db: in the foreground, one process.
    let arguments = ["-db".to_owned(), "-f".to_owned(), file.display().to_string()];
    Child::start("haproxy", program, &arguments, ground.folder, Output::Log)
}

/// The timeouts are those that HAProxy asks for at start; `maxconn` makes room for the 1,000 idle connections.
fn config(listen: SocketAddr, upstream: SocketAddr) -> String {
    format!(
        "global
    maxconn 4000
defaults
    mode tcp
    timeout connect 10s
    timeout client 10m
    timeout server 10m
listen mysql
    bind {listen}
    server upstream {upstream}
"
    )
}

pub(super) fn version(program: &Path) -> String {
    let output = Command::new(program).arg("-v").output().map(|output| output.stdout).unwrap_or_default();
    let line = String::from_utf8_lossy(&output).lines().next().unwrap_or("HAProxy").to_owned();
    let line = line.split(" - ").next().unwrap_or_default();
    format!("{line}, mode tcp, no options, nbthread as it chooses")
}
