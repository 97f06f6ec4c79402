//! An explanation on a terminal.

use serde_json::Value as Json;

use crate::print::{Align, Style, Table, Tone, amount, harmless, items, state_tone, text};

/// Rules that do not match, in one table; all of them are in the JSON.
const MOST_OTHERS: usize = 30;

pub(super) fn shown(answer: &Json, style: &Style) -> String {
    let mut lines = vec![style.paint(Tone::Bold, &name(answer))];
    let mut line = |key: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {key:<12} {value}"));
        }
    };
    line("facts", facts(answer));
    line("claims", claims(answer));
    line("conflicts", conflicts(answer));
    line("statement", text(answer, "statement"));
    line("class", text(answer, "class"));
    line("in doubt", doubts(answer));
    line("shapes", list(answer, "shapes"));
    line("tables", tables(answer));
    line("fingerprint", text(answer, "fingerprint"));
    line("unit", answer.get("unit").map(|unit| text(unit, "says")).unwrap_or_default());
    let mut out = lines.join("\n") + "\n";
    let judgements = items(answer, "judgements");
    for judged in judgements {
        if judgements.len() > 1 {
            out.push_str(&format!("\non {}:\n", text(judged, "on")));
        } else {
            out.push('\n');
        }
        out.push_str(&rules(judged, style));
    }
    out + &gates(answer, style) + &verdict(answer, judgements.len(), style)
}

fn tables(answer: &Json) -> String {
    let is_null = |key| answer.get(key).is_some_and(Json::is_null);
    if !is_null("tables") {
        return list(answer, "tables");
    }
    if is_null("possible_tables") {
        return "not known: any".to_owned();
    }
    format!("not known, but among {}", list(answer, "possible_tables"))
}

/// Why a fact of the statement is not certain, and which classes it may have then.
fn doubts(answer: &Json) -> String {
    let because: Vec<String> = items(answer, "doubts").iter().map(|doubt| text(doubt, "because")).collect();
    if because.is_empty() {
        return String::new();
    }
    format!("{}; it may be {}", because.join("; "), list(answer, "classes"))
}

/// Every gate: what it measures against what threshold, and what it would do with this.
fn gates(answer: &Json, style: &Style) -> String {
    let columns = ["GATE", "MODE", "VALUE", "THRESHOLD", "STATE", "FLOW", "WAIT", "HERE"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left))).wrapping();
    for gate in items(answer, "gates") {
        let concerns = gate.get("concerns").and_then(Json::as_bool).unwrap_or_default();
        let tone = |tone| if concerns { tone } else { Tone::Faint };
        let of = text(gate, "threshold_of");
        let threshold = amount(gate, "threshold_in_force", "unit");
        let threshold = if of.is_empty() { threshold } else { format!("{threshold} by {of}") };
        let value = match (text(gate, "unknown"), amount(gate, "value", "unit")) {
            (unknown, _) if !unknown.is_empty() => unknown,
            (_, value) => value,
        };
        let here = match text(gate, "does").as_str() {
            "pass" => Tone::Good,
            "wait" => Tone::Careful,
            "reject" => Tone::Bad,
            _ => Tone::Plain,
        };
        let state = text(gate, "state");
        table.row([
            (text(gate, "gate"), tone(Tone::Plain)),
            (text(gate, "mode"), tone(Tone::Plain)),
            (value, tone(Tone::Plain)),
            (threshold, tone(Tone::Plain)),
            (state.clone(), tone(state_tone(&state))),
            (text(gate, "flow"), tone(Tone::Plain)),
            (text(gate, "waiting"), tone(Tone::Plain)),
            (text(gate, "says"), tone(here)),
        ]);
    }
    if table.is_empty() { String::new() } else { format!("\n{}", table.render(style)) }
}

fn name(answer: &Json) -> String {
    answer.get("identity").map(|identity| text(identity, "name")).unwrap_or_default()
}

fn facts(answer: &Json) -> String {
    let Some(identity) = answer.get("identity") else { return String::new() };
    let keys = ["user", "address", "certificate", "listener"];
    let known = keys.iter().map(|key| (key, text(identity, key))).filter(|(_, value)| !value.is_empty());
    known.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// What it says of itself, and what that is worth.
fn claims(answer: &Json) -> String {
    let Some(identity) = answer.get("identity") else { return String::new() };
    let mut said = Vec::new();
    for (kind, prefix) in [("attrs", "attr"), ("tags", "tag"), ("query_attrs", "query_attr")] {
        let pairs = identity.get(kind).and_then(Json::as_object);
        said.extend(pairs.into_iter().flatten().map(|(key, value)| {
            format!("{prefix}.{}={}", harmless(key), harmless(value.as_str().unwrap_or_default()))
        }));
    }
    let tool = text(identity, "tool");
    if !tool.is_empty() {
        said.push(format!("tool={tool}"));
    }
    let said = said.join(" ");
    match answer.get("trusted") {
        Some(trusted @ Json::Object(_)) => {
            format!(
                "{said} (not trusted: judged also without them, as `{}`; the stricter stands)",
                text(trusted, "name")
            )
        }
        _ if answer.get("claims_are_trusted") == Some(&Json::Bool(true)) => format!("{said} (trusted)"),
        _ => said,
    }
}

fn conflicts(answer: &Json) -> String {
    match answer.get("conflicts").and_then(Json::as_u64) {
        None | Some(0) => String::new(),
        Some(count) => format!("{count} of what it says does not count: two values for one key, or too many"),
    }
}

fn list(answer: &Json, key: &str) -> String {
    items(answer, key).iter().filter_map(Json::as_str).map(harmless).collect::<Vec<_>>().join(", ")
}

fn rules(judged: &Json, style: &Style) -> String {
    let columns = ["RULE", "FROM", "MODE", "WHY"].map(|name| (name, Align::Left));
    let mut table = Table::new(&columns).wrapping();
    let is = |rule: &Json| rule.get("matches").and_then(Json::as_bool).unwrap_or_default();
    let (matching, others): (Vec<&Json>, Vec<&Json>) = items(judged, "rules").iter().partition(|rule| is(rule));
    for rule in matching.iter().chain(others.iter().take(MOST_OTHERS)) {
        let tone = match (is(rule), items(rule, "owns").is_empty()) {
            (true, false) => Tone::Good,
            (true, true) => Tone::Plain,
            (false, _) => Tone::Faint,
        };
        table.row(["rule", "origin", "mode", "because"].map(|key| (text(rule, key), tone)));
    }
    if table.is_empty() {
        return "there are no rules\n".to_owned();
    }
    match others.len().checked_sub(MOST_OTHERS) {
        Some(more @ 1..) => format!("{}and {more} more that do not match; see --json\n", table.render(style)),
        Some(0) | None => table.render(style),
    }
}

fn verdict(answer: &Json, judgements: usize, style: &Style) -> String {
    let says = |key: &str| answer.get(key).map(|ruling| text(ruling, "says")).unwrap_or_default();
    let kind = answer.get("verdict").map(|ruling| text(ruling, "verdict")).unwrap_or_default();
    let tone = if kind == "pass" { Tone::Good } else { Tone::Careful };
    let of_both = if judgements > 1 { " (the stricter of both)" } else { "" };
    let mut out = format!("\nverdict{of_both}: {}\n", style.paint(tone, &says("verdict")));
    let would_be = says("would_be");
    if !would_be.is_empty() {
        out.push_str(&format!("if nothing only warned: {}\n", style.paint(Tone::Careful, &would_be)));
    }
    for (key, when) in [("error", "if refused"), ("gate_error", "if refused at the gate")] {
        if let Some(error @ Json::Object(_)) = answer.get(key) {
            let (code, state) = (text(error, "code"), text(error, "sqlstate"));
            let words = format!("ERROR {code} ({state}): {}", text(error, "message"));
            out.push_str(&format!("{when}: {}\n", style.paint(Tone::Bad, &words)));
        }
    }
    out
}

#[cfg(test)]
mod tests;
