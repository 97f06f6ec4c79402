//! Reads what sysbench 1.0 prints at the end of a run with `--histogram`.

use anyhow::{Context, Result, ensure};
use std::time::Duration;

/// The line after which all connections are open and the clock runs.
pub const STARTED: &str = "Threads started!";
/// The first line after the clock was stopped.
pub const ENDED: &str = "Latency histogram";

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub queries: u64,
    pub time: Duration,
    /// Of a transaction, which is one query for point selects.
    pub p50: Duration,
    pub p99: Duration,
}

pub fn parse(output: &str) -> Result<Outcome> {
    let histogram = histogram(output);
    let queries = labelled(output, "queries:").context("sysbench printed no count of queries")?;
    let seconds = labelled(output, "total time:").context("sysbench printed no total time")?;
    let seconds = seconds.trim_end_matches('s').parse().context("sysbench's total time is no number")?;
    let queries = queries.parse().context("sysbench's count of queries is no number")?;
    ensure!(queries > 0, "sysbench ran no query");
    Ok(Outcome {
        queries,
        time: Duration::try_from_secs_f64(seconds)?,
        p50: percentile(&histogram, 0.50).context("sysbench printed no histogram")?,
        p99: percentile(&histogram, 0.99).context("sysbench printed no histogram")?,
    })
}

/// The first word behind a label at the start of a line.
fn labelled<'a>(output: &'a str, label: &str) -> Option<&'a str> {
    output.lines().find_map(|line| line.trim_start().strip_prefix(label))?.split_whitespace().next()
}

/// Lines such as `0.099 |****    7564`: milliseconds and a count.
fn histogram(output: &str) -> Vec<(f64, u64)> {
    let line = |line: &str| {
        let (value, rest) = line.split_once('|')?;
        Some((value.trim().parse().ok()?, rest.trim_start_matches(['*', ' ']).trim().parse().ok()?))
    };
    output.lines().filter_map(line).collect()
}

/// The buckets are 1.8 % wide, so that is how exact it is.
fn percentile(histogram: &[(f64, u64)], share: f64) -> Option<Duration> {
    let total: u64 = histogram.iter().map(|(_, count)| count).sum();
    let rank = (share * total as f64).ceil().max(1.0) as u64;
    let mut seen = 0;
    for (milliseconds, count) in histogram {
        seen += count;
        if seen >= rank {
            return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
Threads started!

Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.046 |                                         5
       0.099 |**************************************** 75
       0.100 |**********************                   18
       3.816 |                                         2
 
SQL statistics:
    queries performed:
        read:                            90
        total:                           100
    transactions:                        100    (99.77 per sec.)
    queries:                             100    (99.77 per sec.)
    ignored errors:                      0      (0.00 per sec.)

General statistics:
    total time:                          1.0023s
    total number of events:              100

Latency (ms):
         95th percentile:                        0.22
";

    #[test]
    fn a_run_is_read() {
        let expected = Outcome {
            queries: 100,
            time: Duration::from_micros(1_002_300),
            p50: Duration::from_micros(99),
            p99: Duration::from_micros(3_816),
        };
        assert_eq!(parse(OUTPUT).unwrap(), expected);
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |without: &str, expected: &str| {
            let cut: String =
                OUTPUT.lines().filter(|line| !line.contains(without)).map(|line| format!("{line}\n")).collect();
            assert!(parse(&cut).unwrap_err().to_string().contains(expected), "without {without}");
        };
        check("queries:", "no count of queries");
        check("total time", "no total time");
        check("|", "no histogram");
        assert!(parse("").is_err());
        assert!(parse(&OUTPUT.replace("queries:                             100", "queries: 0")).is_err());
    }
}
