//! `tollgate clients`: who asked, and what became of it.

use std::process::ExitCode;

use serde_json::Value as Json;

use crate::print::{Align, Output, Style, Table, Tone, items, text};
use crate::running::Where;

pub(crate) fn run(proxy: &Where, output: Output) -> anyhow::Result<ExitCode> {
    let answer = proxy.running()?.get("/clients")?;
    output.show(&answer, |style| shown(&answer, style));
    Ok(ExitCode::SUCCESS)
}

fn shown(answer: &Json, style: &Style) -> String {
    let mut table = Table::new(&[
        ("CLIENT", Align::Left),
        ("USER", Align::Left),
        ("SEEN", Align::Right),
        ("PASSED", Align::Right),
        ("HELD", Align::Right),
        ("REJECTED", Align::Right),
        ("WARNED", Align::Right),
        ("WAITING", Align::Right),
        ("HELD FOR", Align::Right),
        ("BY RULE", Align::Left),
    ]);
    for client in items(answer, "clients") {
        table.row(row(client));
    }
    match table.is_empty() {
        true => "nobody has asked anything yet\n".to_owned(),
        false => format!("{}{} waiting\n", table.render(style), text(answer, "waiting")),
    }
}

fn row(client: &Json) -> [(String, Tone); 10] {
    let count = |key: &str, tone: Tone| {
        let some = client.get(key).and_then(Json::as_u64).unwrap_or_default() > 0;
        (text(client, key), if some { tone } else { Tone::Plain })
    };
    let millis = client.get("hold_ms").and_then(Json::as_u64).unwrap_or_default();
    let by_rule = |one: &Json| {
        let of = if text(one, "reason") == "gate" { "gate:" } else { "" };
        format!("{of}{} {} {}", text(one, "rule"), text(one, "effect"), text(one, "count"))
    };
    let by_rule: Vec<String> = items(client, "by_rule").iter().map(by_rule).collect();
    [
        (text(client, "client"), Tone::Plain),
        (text(client, "user"), Tone::Plain),
        count("seen", Tone::Plain),
        count("passed", Tone::Plain),
        count("held", Tone::Careful),
        count("rejected", Tone::Bad),
        count("warned", Tone::Careful),
        count("waiting", Tone::Careful),
        (format!("{}.{}s", millis / 1000, millis % 1000 / 100), Tone::Plain),
        (by_rule.join(", "), Tone::Plain),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clients_as_a_table() {
        let answer = json!({ "waiting": 1, "clients": [
            { "client": "loader:etl", "user": "etl", "seen": 12, "passed": 2, "held": 3, "rejected": 9, "warned": 0,
              "waiting": 1, "hold_ms": 12_345,
              "by_rule": [{ "rule": "lag", "reason": "gate", "effect": "held", "count": 3 },
                          { "rule": "r", "reason": "ratio", "effect": "rejected", "count": 9 }] },
            { "client": "__overflow__", "user": null, "seen": 0, "hold_ms": 0 },
        ] });
        let table = shown(&answer, &Style::PLAIN);
        assert_eq!(
            table,
            "CLIENT        USER  SEEN  PASSED  HELD  REJECTED  WARNED  WAITING  HELD FOR  BY RULE\n\
             loader:etl    etl     12       2     3         9       0        1     12.3s  gate:lag held 3, r rejected 9\n\
             __overflow__           0                                               0.0s\n\
             1 waiting\n"
        );
        assert_eq!(shown(&json!({}), &Style::PLAIN), "nobody has asked anything yet\n");
    }
}
