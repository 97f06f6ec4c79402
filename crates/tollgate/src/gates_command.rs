//! `tollgate gates`: how the database is doing, and what each gate makes of it.

use std::process::ExitCode;

use serde_json::Value as Json;

use crate::print::{Align, Output, Style, Table, Tone, age, amount, items, state_tone, text};
use crate::running::Where;

pub(crate) fn run(proxy: &Where, output: Output) -> anyhow::Result<ExitCode> {
    let answer = proxy.running()?.get("/gates")?;
    output.show(&answer, |style| shown(&answer, style));
    Ok(ExitCode::SUCCESS)
}

fn shown(answer: &Json, style: &Style) -> String {
    let is = |key: &str| answer.get(key).and_then(Json::as_bool).unwrap_or_default();
    let mut parts = vec![gates(answer, style)];
    parts.extend([metrics(answer, style), servers(answer, style), latencies(answer, style)].into_iter().flatten());
    let waiting = text(answer, "waiting");
    let how = if is("asleep") {
        "no traffic: the servers are asked rarely, and asked anew before the next query that a gate concerns"
    } else {
        "awake"
    };
    let mut last = format!("{waiting} waiting; {how}\n");
    if !is("probe") {
        last.push_str(
            "no `probe` in proxy.yaml: nobody asks the servers, and only the proxy's own metrics are known\n",
        );
    }
    parts.push(last);
    parts.join("\n")
}

fn gates(answer: &Json, style: &Style) -> String {
    let mut table = Table::new(&[
        ("GATE", Align::Left),
        ("METRIC", Align::Left),
        ("VALUE", Align::Right),
        ("THRESHOLD", Align::Right),
        ("STATE", Align::Left),
        ("FLOW", Align::Left),
        ("MODE", Align::Left),
        ("WAITING", Align::Right),
        ("IN FLIGHT", Align::Right),
        ("SAYS", Align::Left),
    ])
    .wrapping();
    items(answer, "gates").iter().for_each(|gate| table.row(gate_row(gate)));
    match table.is_empty() {
        true => "there are no gates: everything is measured and shown, and nothing acts on it\n".to_owned(),
        false => table.render(style),
    }
}

fn gate_row(gate: &Json) -> [(String, Tone); 10] {
    let state = text(gate, "state");
    let is_off = state == "off";
    let plain = |text: String| (text, if is_off { Tone::Faint } else { Tone::Plain });
    let unknown = text(gate, "unknown");
    let value = match (unknown.is_empty(), gate.get("idle").and_then(Json::as_bool).unwrap_or_default()) {
        (false, _) => (unknown, Tone::Careful),
        (true, true) => plain("idle".to_owned()),
        (true, false) => plain(amount(gate, "value", "unit")),
    };
    let waits = gate.get("waiting").and_then(Json::as_u64).unwrap_or_default() > 0;
    let stopped = gate.get("logins_stopped").and_then(Json::as_u64).filter(|count| *count > 0);
    let stopped = stopped.map(|count| match text(gate, "mode").as_str() {
        "warn" => format!("Would have stopped {count} logins."),
        _ => format!("Stopped {count} logins."),
    });
    let says: Vec<String> = [text(gate, "means")].into_iter().filter(|text| !text.is_empty()).chain(stopped).collect();
    [
        plain(text(gate, "gate")),
        plain(text(gate, "metric")),
        value,
        plain(amount(gate, "threshold", "unit")),
        (state.clone(), if is_off { Tone::Faint } else { state_tone(&state) }),
        plain(text(gate, "flow")),
        plain(text(gate, "mode")),
        (text(gate, "waiting"), if waits { Tone::Careful } else { Tone::Plain }),
        plain(gate.get("in_flight").and_then(Json::as_f64).map(|count| format!("{count:.0}")).unwrap_or_default()),
        (says.join(" "), if state == "given_up" { Tone::Bad } else { Tone::Plain }),
    ]
}

fn metrics(answer: &Json, style: &Style) -> Option<String> {
    let mut table = Table::new(&[
        ("METRIC", Align::Left),
        ("SERVER", Align::Left),
        ("VALUE", Align::Right),
        ("AGE", Align::Right),
        ("SAYS", Align::Left),
    ])
    .wrapping();
    for metric in items(answer, "metrics") {
        let state = text(metric, "state");
        let value = match state.as_str() {
            "known" => (amount(metric, "value", "unit"), Tone::Plain),
            "idle" | "delayed" => (state, Tone::Faint),
            _ => (state, Tone::Careful),
        };
        let plain = |key: &str| (text(metric, key), Tone::Plain);
        table.row([plain("metric"), plain("server"), value, (age(metric, "age_ms"), Tone::Plain), plain("means")]);
    }
    (!table.is_empty()).then(|| table.render(style))
}

fn servers(answer: &Json, style: &Style) -> Option<String> {
    let columns = ["SERVER", "ROLE", "VERSION", "READ ONLY", "REPLICATION"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for server in items(answer, "servers") {
        let plain = |key: &str| (text(server, key), Tone::Plain);
        let read_only = server.get("read_only").and_then(Json::as_bool).unwrap_or_default();
        let read_only = match (read_only, text(server, "role").as_str()) {
            (true, "primary") => ("yes".to_owned(), Tone::Bad),
            (true, _) => ("yes".to_owned(), Tone::Plain),
            (false, _) => ("no".to_owned(), Tone::Plain),
        };
        let replication = text(server, "replication");
        let tone = if replication == "replicating" { Tone::Good } else { Tone::Careful };
        table.row([plain("server"), plain("role"), plain("version"), read_only, (replication, tone)]);
    }
    (!table.is_empty()).then(|| table.render(style))
}

/// Of what ended in the last second.
fn latencies(answer: &Json, style: &Style) -> Option<String> {
    let columns = [("LAST SECOND", Align::Left), ("COUNT", Align::Right), ("P50", Align::Right), ("P99", Align::Right)];
    let mut table = Table::new(&columns);
    for took in items(answer, "latencies") {
        let time = |key: &str| {
            let seconds = took.get(key).and_then(Json::as_f64).unwrap_or_default();
            (if seconds < 0.1 { format!("{:.1}ms", seconds * 1000.0) } else { format!("{seconds:.2}s") }, Tone::Plain)
        };
        table.row([(text(took, "of"), Tone::Plain), (text(took, "count"), Tone::Plain), time("p50"), time("p99")]);
    }
    (!table.is_empty()).then(|| table.render(style))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_as_tables() {
        let answer = json!({
            "waiting": 3, "asleep": false, "probe": true,
            "gates": [
                { "gate": "connections_used", "metric": "connections_used", "unit": "share", "value": 0.95,
                  "threshold": 0.9, "state": "closed", "flow": "closed, 1/s", "mode": "enforce", "waiting": 0,
                  "in_flight": 0.0, "logins_stopped": 2 },
                { "gate": "lag", "metric": "replication_lag", "unit": "seconds", "value": null, "unknown": "stopped",
                  "means": "The replica's applier does not run.", "threshold": 5.0, "state": "stale", "flow": "open",
                  "mode": "warn", "waiting": 0, "in_flight": 0.0 },
                { "gate": "threads", "metric": "threads_running", "unit": "count", "value": 41.0, "threshold": 40.0,
                  "state": "limiting", "flow": "3 at once", "mode": "enforce", "waiting": 3, "in_flight": 3.0 },
                { "gate": "waits", "metric": "lock_waits", "unit": "count", "threshold": 3.0, "state": "off",
                  "mode": "off" },
            ],
            "metrics": [
                { "metric": "commit_delay", "server": "proxy", "unit": "seconds", "state": "idle", "age_ms": 10,
                  "means": "There is no traffic to measure it on." },
                { "metric": "threads_running", "server": "db:3306", "unit": "count", "value": 41.0, "state": "known",
                  "age_ms": 1250 },
            ],
            "servers": [
                { "server": "db:3306", "role": "primary", "version": "MySQL 9.7.4", "read_only": false, "replication": null },
                { "server": "db:3307", "role": "replica", "version": "MySQL 9.7.4", "read_only": true,
                  "replication": "applier stopped" },
            ],
            "latencies": [{ "of": "read", "count": 120, "p50": 0.0004, "p99": 0.25 }],
        });
        let expected = "\
GATE              METRIC              VALUE  THRESHOLD  STATE     FLOW         MODE     WAITING  IN FLIGHT  SAYS
connections_used  connections_used      95%        90%  closed    closed, 1/s  enforce        0          0  Stopped 2 logins.
lag               replication_lag   stopped       5.0s  stale     open         warn           0          0  The replica's applier does not run.
threads           threads_running        41         40  limiting  3 at once    enforce        3          3
waits             lock_waits                         3  off                    off

METRIC           SERVER   VALUE   AGE  SAYS
commit_delay     proxy     idle  0.0s  There is no traffic to measure it on.
threads_running  db:3306     41  1.2s

SERVER   ROLE     VERSION      READ ONLY  REPLICATION
db:3306  primary  MySQL 9.7.4  no
db:3307  replica  MySQL 9.7.4  yes        applier stopped

LAST SECOND  COUNT    P50    P99
read           120  0.4ms  0.25s

3 waiting; awake
";
        assert_eq!(shown(&answer, &Style::PLAIN), expected);
        let coloured = shown(&answer, &Style { colour: true, width: None });
        for part in ["\x1b[31mclosed\x1b[0m", "\x1b[33mlimiting\x1b[0m", "\x1b[31mstale\x1b[0m", "\x1b[2moff\x1b[0m"] {
            assert!(coloured.contains(part), "no {part:?} in\n{coloured}");
        }
    }

    #[test]
    fn without_gates_and_without_a_user() {
        let found = shown(&json!({ "waiting": 0, "asleep": true, "probe": false }), &Style::PLAIN);
        for part in ["there are no gates", "no traffic", "no `probe` in proxy.yaml"] {
            assert!(found.contains(part), "no {part:?} in\n{found}");
        }
    }
}
