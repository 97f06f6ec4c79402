//! Tollgate, with the gate that a run asks for.

use super::plan::{Control, Plan};
use super::servers::{Servers, opts};
use crate::child::{Child, Output};
use crate::contestant::{age, free_address};
use crate::interrupt::Interrupt;
use anyhow::{Context, Result, bail};
use mysql_async::Conn;
use sandbox::{APP, TOLLGATE};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const START_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Proxy {
    pub address: SocketAddr,
    /// The proxy.yaml that it runs with.
    pub config: String,
    child: Child,
}

impl Proxy {
    /// Starts it and waits until a login through it succeeds. To be called on the main thread, with which it ends.
    pub async fn start(
        program: &Path,
        folder: &Path,
        servers: &Servers,
        plan: &Plan,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let address = free_address()?;
        let config = config(plan, address, servers.primary(), servers.replica());
        let file = folder.join(format!("{}.yaml", plan.name()));
        std::fs::write(&file, &config)?;
        let arguments = ["run".to_owned(), "--config".to_owned(), file.display().to_string()];
        let child = Child::start(&plan.name(), program, &arguments, folder, Output::Log)?;
        let mut proxy = Self { address, config, child };
        proxy.wait_until_ready(interrupt).await.context("tollgate does not start")?;
        Ok(proxy)
    }

    /// An error if it has ended by itself.
    pub fn still_runs(&mut self) -> Result<()> {
        self.child.still_runs()
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    async fn wait_until_ready(&mut self, interrupt: &Interrupt) -> Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            let error = match Conn::new(opts(self.address, APP)).await {
                Ok(conn) => return Ok(conn.disconnect().await?),
                Err(error) => error,
            };
            self.still_runs()?;
            if Instant::now() > deadline {
                bail!("no login in {START_PATIENCE:?}: {error}; it said: {}", self.child.last_words());
            }
            if interrupt.asked() {
                bail!("interrupted");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The build that is measured: the one that was named, or the one beside this program.
pub fn program(named: Option<&Path>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?.with_file_name("tollgate"),
    };
    if !path.is_file() {
        bail!("there is no {}; get it with: cargo build --release -p tollgate", path.display());
    }
    eprintln!("storm: tollgate was built {} ago", age(&path));
    Ok(path)
}

/// All of proxy.yaml for all runs, here and nowhere else.
fn config(plan: &Plan, listen: SocketAddr, primary: SocketAddr, replica: SocketAddr) -> String {
    let mut text = format!("listen: {listen}\nadmin: {{ http: off }}\n");
    let gate = match plan.control {
        Control::Off | Control::ByHand => {
            text += &format!("upstream: {{ address: \"{primary}\", tls: disabled }}\n");
            return text;
        }
        Control::Binary => "binary",
        Control::Paced | Control::NoHeartbeat => "paced",
        Control::Permits => "permits",
    };
    let heartbeat = match plan.control {
        Control::Permits | Control::NoHeartbeat => "",
        Control::Off | Control::ByHand | Control::Binary | Control::Paced => {
            ", heartbeat: { table: tollgate.heartbeat, create: true }"
        }
    };
    let (user, password, threshold) = (TOLLGATE.user, TOLLGATE.password, plan.threshold.as_millis());
    text += &format!(
        "upstream: {{ address: \"{primary}\", tls: disabled, replicas: [\"{replica}\"] }}
probe: {{ user: {user}, password: \"{password}\"{heartbeat} }}
gates: {{ replication_lag: {{ threshold: {threshold}ms, control: {gate}, on_stale: open }} }}
defaults: {{ max_delay: 30s }}
"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::Scenario;
    use super::super::plan::tests::plan;
    use super::*;

    fn text(control: Control) -> String {
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        config(&plan(Scenario::Steady, control), address(1), address(2), address(3))
    }

    #[test]
    fn only_gated_runs_have_gates() {
        for control in [Control::Off, Control::ByHand] {
            assert!(!text(control).contains("gates"), "{control:?}");
        }
        for (control, name) in [(Control::Binary, "binary"), (Control::Paced, "paced"), (Control::Permits, "permits")] {
            let text = text(control);
            assert!(text.contains(&format!("threshold: 1000ms, control: {name}, on_stale: open")), "{text}");
            assert!(text.contains("replicas: [\"127.0.0.1:3\"]"), "{text}");
            assert_eq!(text.contains("heartbeat"), control != Control::Permits, "{text}");
        }
    }
}
