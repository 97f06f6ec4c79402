//! The bare relay of `src/bin/bare_relay.rs`.

use super::Ground;
use crate::child::{Child, Output};
use anyhow::{Context, Result, ensure};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) fn start(
    name: &str,
    program: &Path,
    per_core: bool,
    listen: SocketAddr,
    ground: Ground<'_>,
) -> Result<Child> {
    let mut arguments = vec![listen.to_string(), ground.upstream.to_string()];
    if per_core {
        arguments.insert(0, "--per-core".to_owned());
    }
    Child::start(name, program, &arguments, ground.folder, Output::Log)
}

/// `cargo run` builds only the program that it runs, so under cargo the relay is built here, in no time if it is fresh.
pub(super) fn program(programs: &Path) -> Result<PathBuf> {
    let program = programs.join("bare_relay");
    if let Some(cargo) = std::env::var_os("CARGO") {
        let built = Command::new(cargo)
            .args(["build", "--release", "--quiet", "--package", "bench", "--bin", "bare_relay"])
            .status()
            .context("cannot run cargo to build the bare relay")?;
        ensure!(built.success(), "the bare relay does not build");
    }
    ensure!(program.is_file(), "no bare_relay here; get it with: cargo build --release -p bench");
    Ok(program)
}
