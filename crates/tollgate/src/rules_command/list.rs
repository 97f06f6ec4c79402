use std::process::ExitCode;

use serde_json::Value as Json;

use crate::print::{Align, Output, Style, Table, Tone, does, items, left, text, whom};
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl List {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let answer = self.proxy.running()?.get("/rules")?;
        self.output.show(&answer, |style| shown(&answer, style));
        Ok(ExitCode::SUCCESS)
    }
}

fn shown(answer: &Json, style: &Style) -> String {
    let mut out = String::new();
    match text(answer, "mode").as_str() {
        "warn" => {
            out.push_str(&style.paint(Tone::Careful, "defaults.mode is warn: rules only count what they would do\n"))
        }
        "off" => out.push_str(&style.paint(Tone::Careful, "defaults.mode is off: no rule does anything\n")),
        _ => {}
    }
    let mut table = Table::new(&[
        ("RULE", Align::Left),
        ("WHOM", Align::Left),
        ("DOES", Align::Left),
        ("MODE", Align::Left),
        ("LEFT", Align::Left),
        ("DECIDED", Align::Right),
        ("FROM", Align::Left),
        ("REASON", Align::Left),
    ]);
    for rule in items(answer, "rules") {
        table.row(row(rule));
    }
    if table.is_empty() {
        return format!("{out}no rules\n");
    }
    out + &table.render(style)
}

fn row(rule: &Json) -> [(String, Tone); 8] {
    let (left, ends) = left(rule);
    let mode = text(rule, "in_force");
    let asleep = mode == "off" || ends == Tone::Faint;
    let tone = if asleep { Tone::Faint } else { Tone::Plain };
    let limits = used(rule);
    let does = if limits.is_empty() { does(rule) } else { format!("{} ({limits})", does(rule)) };
    let whom = match items(rule, "unknown_digests").is_empty() {
        true => whom(rule),
        false => format!("{} (digest not known yet)", whom(rule)),
    };
    let warns = if mode == "warn" { Tone::Careful } else { tone };
    [
        (text(rule, "id"), tone),
        (whom, tone),
        (does, tone),
        (mode, warns),
        (left, ends),
        (text(rule, "decided"), tone),
        (text(rule, "origin"), tone),
        (text(rule, "reason"), tone),
    ]
}

/// How much of its limits is taken.
fn used(rule: &Json) -> String {
    let limited = |limit: &str| rule.get("do").is_some_and(|effect| effect.get(limit).is_some());
    let mut parts = Vec::new();
    for (limit, count, what) in
        [("max_concurrency", "running", "running"), ("max_connections", "sessions", "connected")]
    {
        if limited(limit) {
            parts.push(format!("{} {what}", text(rule, count)));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_as_a_table() {
        let answer = json!({ "generation": 3, "mode": "warn", "rules": [
            { "id": "heartbeat", "match": { "table": "percona.heartbeat" }, "do": { "exempt": true }, "origin": "built-in",
              "in_force": "enforce", "seconds_left": null, "decided": 12 },
            { "id": "r", "match": { "user": "etl" }, "do": { "rejection_ratio": 0.9, "max_concurrency": 4 }, "running": 2,
              "origin": "runtime", "in_force": "warn", "seconds_left": 7140, "decided": 0, "reason": "INC-42" },
        ] });
        assert_eq!(
            shown(&answer, &Style::PLAIN),
            "defaults.mode is warn: rules only count what they would do\n\
             RULE       WHOM                     DOES                                  MODE     LEFT       DECIDED  FROM      REASON\n\
             heartbeat  table=percona.heartbeat  exempt                                enforce  permanent       12  built-in\n\
             r          user=etl                 concurrency 4, ratio 0.9 (2 running)  warn     1h 59m           0  runtime   INC-42\n"
        );
        assert_eq!(shown(&json!({ "mode": "enforce", "rules": [] }), &Style::PLAIN), "no rules\n");
    }
}
