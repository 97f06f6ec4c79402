//! Tollgate itself, plain on both legs, with nothing but the session.

use super::Ground;
use crate::child::{Child, Output};
use anyhow::Result;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

pub(super) fn start(name: &str, program: &Path, listen: SocketAddr, ground: Ground<'_>) -> Result<Child> {
    let file = ground.folder.join(format!("{name}-{}.yaml", listen.port()));
    fs::write(&file, config(listen, ground.upstream))?;
    let arguments = ["run".to_owned(), "--config".to_owned(), file.display().to_string()];
    Child::start(name, program, &arguments, ground.folder, Output::Log)
}

/// The limits are far above what is measured, so that none of them is.
fn config(listen: SocketAddr, upstream: SocketAddr) -> String {
    format!(
        "listen: {listen}
upstream:
  address: {upstream}
  tls: disabled
limits:
  connections: 5000
  unauthenticated: 500
admin: {{ http: off }}
"
    )
}
