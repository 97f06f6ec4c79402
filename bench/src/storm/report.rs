//! The table in the terminal, and the same figures for programs.

use super::plan::Control;
use super::record::Record;
use super::summary::{Summary, seconds};
use crate::report::table::{Align, Table};
use serde_json::{Map, Value, json};

/// The runs of one scenario, in the order they are shown.
pub fn render(records: &[Record]) -> String {
    let Some(first) = records.first() else { return String::new() };
    let plan = &first.plan;
    let mut text = format!(
        "\n{}: {}\nthreshold {}, {} writers, {} s of which the first {} s are the warm-up; {}; {}\n",
        plan.scenario.name(),
        plan.scenario.title(),
        seconds(plan.threshold.as_secs_f64()),
        plan.writers,
        plan.length.as_secs(),
        plan.warm_up.as_secs(),
        first.server,
        first.machine,
    );
    text.push_str(&table(records).render());
    for (record, summary) in summaries(records) {
        let name = record.plan.control.name();
        for aim in summary.aims(record) {
            text.push_str(&format!("  {name:<8} {} {}\n", if aim.met { "met   " } else { "MISSED" }, aim.text));
        }
        for (what, count) in &record.errors {
            text.push_str(&format!("  {name:<8} writers: {count} × {what}\n"));
        }
        if record.foreground.errors > 0 {
            text.push_str(&format!("  {name:<8} foreground: {} errors\n", record.foreground.errors));
        }
    }
    text
}

fn table(records: &[Record]) -> Table {
    let header = [
        "run",
        "lag p50",
        "p99",
        "max",
        "first peak",
        "over",
        "writers",
        "commits/s",
        "rows/s",
        "applied",
        "can apply",
        "fg p50",
        "fg p99",
        "× by-hand",
        "others",
    ];
    let mut columns = vec![Align::Right; header.len()];
    columns[0] = Align::Left;
    let mut table = Table::new(columns, header.map(str::to_owned).to_vec());
    for (record, summary) in summaries(records) {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let number = |value: f64| format!("{value:.0}");
        let milliseconds = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2} ms"));
        table.row(vec![
            record.plan.control.name().to_owned(),
            seconds(summary.lag.p50),
            seconds(summary.lag.p99),
            seconds(summary.lag.max),
            seconds(summary.first_peak),
            percent(summary.over),
            percent(summary.share),
            number(summary.commits_a_second),
            number(summary.rows_a_second),
            number(summary.applied_a_second),
            number(summary.apply_rate),
            milliseconds(summary.foreground_p50),
            milliseconds(summary.foreground_p99),
            summary.foreground_ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            record.disturbance.map_or(String::new(), percent),
        ]);
    }
    table
}

pub fn json(records: &[Record]) -> Value {
    let runs: Map<String, Value> = summaries(records)
        .into_iter()
        .map(|(record, summary)| {
            let aims = summary.aims(record);
            let about =
                json!({ "figures": summary, "aims": aims, "errors": record.errors, "others": record.disturbance });
            (record.plan.control.name().to_owned(), about)
        })
        .collect();
    let first = records.first();
    json!({ "machine": first.map(|record| &record.machine), "server": first.map(|record| &record.server), "runs": runs })
}

/// Those that lasted long enough to have figures.
pub fn summaries(records: &[Record]) -> Vec<(&Record, Summary)> {
    let by_hand = records.iter().find(|record| record.plan.control == Control::ByHand);
    records.iter().filter_map(|record| Some((record, Summary::of(record, by_hand)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn a_table_with_the_aims_under_it() {
        let mut paced = record(Control::Paced, 0.4, 0.97);
        paced.errors.insert("ERR 1226".to_owned(), 3);
        let records = [record(Control::Off, 40.0, 10.0), record(Control::ByHand, 0.05, 0.95), paced];
        let text = render(&records);
        for expected in [
            "steady: single-row updates",
            "threshold 1.00 s, 48 writers, 90 s",
            "off       40.0 s",
            "by-hand",
            "97 %",
            "met    lag p99 < 1.00 s",
            "writers: 3 × ERR 1226",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
        }
        assert_eq!(render(&[]), "");
        assert_eq!(json(&records)["runs"]["paced"]["aims"][0]["met"], true);
    }
}
