//! The command line.

use super::plan::{Control, Plan, Scenario};
use anyhow::{Result, ensure};
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Parser)]
#[command(name = "storm", about = "Writers against a slow replica, through Tollgate: lag, rates, foreground, plots")]
pub struct Options {
    /// What holds the writers back; all of them, one after the other, if none is named
    #[arg(long = "run", num_args = 1.., value_enum, value_name = "NAME")]
    pub runs: Vec<Control>,
    /// What happens during a run
    #[arg(long = "scenario", num_args = 1.., value_enum, value_name = "NAME", default_value = "steady")]
    pub scenarios: Vec<Scenario>,
    /// The lag that the gate is to keep
    #[arg(long, default_value = "1s", value_parser = parse_duration)]
    pub threshold: Duration,
    /// How long the writers write, in each run
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(u32).range(5..=3600))]
    pub seconds: u32,
    /// The first seconds, which count for the first peak and for nothing else
    #[arg(long, default_value_t = 30)]
    pub warm_up: u32,
    /// Closed-loop writers, a connection each
    #[arg(long, default_value_t = 48, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub writers: u32,
    /// Rows a second that the replica is slowed to; what it then really applies is measured
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(10..=2000))]
    pub replica_rate: u32,
    /// Point selects a second in the foreground
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub foreground_rate: u32,
    /// Where the figures and plots go
    #[arg(long, default_value = "target/storm", value_name = "DIR")]
    pub out: PathBuf,
    /// The build of Tollgate, instead of the one beside this program
    #[arg(long, value_name = "PATH")]
    pub tollgate: Option<PathBuf>,
    /// Run nothing; make the table and the plots again from the figures in DIR
    #[arg(long)]
    pub replot: bool,
}

impl Options {
    pub fn chosen_runs(&self) -> Vec<Control> {
        if self.runs.is_empty() { Control::ALL.to_vec() } else { self.runs.clone() }
    }

    pub fn plan(&self, scenario: Scenario, control: Control) -> Result<Plan> {
        ensure!(self.warm_up < self.seconds, "the warm-up must be shorter than the run");
        Ok(Plan {
            scenario,
            control,
            threshold: self.threshold,
            length: Duration::from_secs(self.seconds.into()),
            warm_up: Duration::from_secs(self.warm_up.into()),
            writers: self.writers,
            replica_rate: f64::from(self.replica_rate),
            foreground_rate: f64::from(self.foreground_rate),
        })
    }
}

/// `1s`, `1.5s`, `500ms`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no time; write it like 1s, 1.5s or 500ms");
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s').ok_or_else(wrong)?, 1.0),
    };
    let seconds: f64 = number.parse().map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(seconds * unit).map_err(|_| wrong())?;
    if time.is_zero() { Err(wrong()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, milliseconds) in [("1s", 1000), ("1.5s", 1500), ("500ms", 500)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        for bad in ["", "1", "s", "0s", "-1s", "1h", "ms"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_runs_unless_some_are_named() {
        assert_eq!(Options::parse_from(["storm"]).chosen_runs(), Control::ALL);
        let options = Options::parse_from(["storm", "--run", "off", "by-hand", "--scenario", "drop", "huge"]);
        assert_eq!(options.chosen_runs(), [Control::Off, Control::ByHand]);
        assert_eq!(options.scenarios, [Scenario::Drop, Scenario::Huge]);
    }

    #[test]
    fn a_run_outlasts_its_warm_up() {
        let options = Options::parse_from(["storm", "--seconds", "20"]);
        assert!(options.plan(Scenario::Steady, Control::Off).is_err());
    }
}
