//! `tollgate check`: what a file means, and what is worth a word in it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::plan::{Plan, Replicas, Workers};
use crate::problem::{ConfigError, Problem};

/// A file that is in order.
#[derive(Debug)]
pub struct CheckReport {
    pub file: PathBuf,
    pub plan: Plan,
    /// In the order of the file.
    pub warnings: Vec<Problem>,
}

/// Reads and validates a file as `run` would.
pub fn check(path: &Path) -> Result<CheckReport, ConfigError> {
    let (plan, warnings) = Plan::from_file_with_warnings(path)?;
    Ok(CheckReport { file: path.to_owned(), plan, warnings })
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        let listen: Vec<String> = plan.listen.iter().map(|listener| listener.address.to_string()).collect();
        writeln!(f, "{}: OK", self.file.display())?;
        writeln!(f, "  {} on {}", counted(listen.len(), "listener"), listen.join(", "))?;
        let replicas = match &plan.upstream.replicas {
            Replicas::Listed(addresses) => counted(addresses.len(), "replica"),
            Replicas::Discover => "replicas to be discovered".to_owned(),
        };
        writeln!(f, "  upstream {}, {replicas}", plan.upstream.address)?;
        writeln!(f, "  at most {}", counted(plan.limits.connections, "connection"))?;
        match plan.workers {
            Workers::Auto => writeln!(f, "  one worker thread a core")?,
            Workers::Exactly(count) => writeln!(f, "  {}", counted(count, "worker thread"))?,
        }
        match plan.admin.http {
            Some(http) => writeln!(f, "  admin HTTP on {http}")?,
            None => writeln!(f, "  admin HTTP off")?,
        }
        let policy = &plan.policy;
        let rules = counted(policy.rules.len(), "rule");
        writeln!(f, "  {rules}, {}", counted(policy.playbooks.len(), "playbook"))?;
        if !policy.gates.is_empty() || !policy.metrics.is_empty() {
            let gates = counted(policy.gates.len(), "gate");
            writeln!(f, "  {gates}, {}", counted(policy.metrics.len(), "custom metric"))?;
        }
        write!(f, "  {}", counted(self.warnings.len(), "warning"))?;
        for warning in &self.warnings {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}

fn counted(count: usize, thing: &str) -> String {
    match count {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{count} {thing}s"),
    }
}
