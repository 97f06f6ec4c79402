//! Everything that one run was and gave, as it is kept in a file.

use super::foreground::Latency;
use super::plan::{Plan, Scenario};
use super::series::Look;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub plan: Plan,
    /// The proxy.yaml of the run.
    pub config: String,
    pub machine: String,
    pub server: String,
    /// The share of the machine that other programs and other machines took.
    pub disturbance: Option<f64>,
    /// Rows a second that the replica was measured to apply, at full speed.
    pub apply_rate: f64,
    pub looks: Vec<Look>,
    /// By what was said.
    pub errors: BTreeMap<String, u64>,
    pub foreground: Foreground,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Foreground {
    /// After the warm-up.
    pub after: Option<Latency>,
    /// Of windows of [`super::foreground::WINDOW`], from the beginning.
    pub windows: Vec<Option<Latency>>,
    pub errors: u64,
}

impl Record {
    pub fn write(&self, folder: &Path) -> Result<()> {
        let file = folder.join(format!("{}.json", self.plan.name()));
        let text = serde_json::to_string(self)?;
        std::fs::write(&file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
    }

    /// Those of a scenario that are in a folder, in the order of the runs.
    pub fn read_all(folder: &Path, scenario: Scenario) -> Result<Vec<Self>> {
        let mut records = Vec::new();
        for control in super::plan::Control::ALL {
            let file = folder.join(format!("{}-{}.json", scenario.name(), control.name()));
            if !file.is_file() {
                continue;
            }
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            records.push(serde_json::from_slice(&text).with_context(|| format!("{} is no record", file.display()))?);
        }
        Ok(records)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::plan::Control;
    use super::super::plan::tests::plan;
    use super::*;

    /// Of a run in which lag stayed as given and the writers had this share of the replica's rate.
    pub(crate) fn record(control: Control, lag: f64, share: f64) -> Record {
        let look = |tick: u32| {
            let at = f64::from(tick) / 10.0;
            let rows = (at * 400.0 * share) as u64;
            Look { at, lag, commits: rows, rows, applied: rows }
        };
        let latency = Latency { count: 1000, p50: 300, p99: 900, max: 5000 };
        Record {
            plan: plan(Scenario::Steady, control),
            config: String::new(),
            machine: "a machine".to_owned(),
            server: "MySQL".to_owned(),
            disturbance: Some(0.05),
            apply_rate: 400.0,
            looks: (0..=900).map(look).collect(),
            errors: BTreeMap::new(),
            foreground: Foreground { after: Some(latency), windows: vec![Some(latency); 18], errors: 0 },
        }
    }

    #[test]
    fn records_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let (off, paced) = (record(Control::Off, 9.25, 5.0), record(Control::Paced, 0.4, 0.97));
        paced.write(folder.path()).unwrap();
        off.write(folder.path()).unwrap();
        assert_eq!(Record::read_all(folder.path(), Scenario::Steady).unwrap(), [off, paced]);
        assert_eq!(Record::read_all(folder.path(), Scenario::Drop).unwrap(), []);
    }
}
