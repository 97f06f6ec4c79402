//! What is said of one rule, and by whom it is said to be.

use serde_json::Value as Json;

use crate::print::{Style, Tone, does, harmless, items, left, moment, text, whom};

/// How many names are printed; the others are counted.
const NAMES: usize = 20;

/// A rule that has just been put in force: whom it hits now, and whom others shield from it.
pub(crate) fn added(rule: &Json, verb: &str, style: &Style) -> String {
    let mut lines = vec![style.paint(Tone::Bold, &format!("{verb} {}", text(rule, "id")))];
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("  {name:<9} {text}"));
        }
    };
    line("whom", &whom(rule));
    line("does", &effect(rule));
    line("ends", &end(rule));
    line("reason", &text(rule, "reason"));
    line("by", &text(rule, "created_by"));
    if !items(rule, "unknown_digests").is_empty() {
        line("digest", "not known yet: the server is asked for its text each minute, with the probe user");
    }
    line("hits now", &hits(rule));
    line("shielded", &shielded(rule));
    for warning in items(rule, "warnings").iter().filter_map(Json::as_str) {
        lines.push(style.paint(Tone::Careful, &format!("warning: {}", harmless(warning))));
    }
    lines.join("\n") + "\n"
}

fn effect(rule: &Json) -> String {
    let mut words = vec![does(rule)];
    for (key, word) in [
        ("action", "action"),
        ("max_delay", "max_delay"),
        ("in_transaction", "in_transaction"),
        ("unknown_tables", "unknown_tables"),
    ] {
        let value = text(rule, key);
        if !value.is_empty() {
            words.push(format!("{word} {value}"));
        }
    }
    match text(rule, "in_force").as_str() {
        "warn" => words.push("warn: it only counts what it would do".to_owned()),
        "off" => words.push("off: it does nothing".to_owned()),
        _ => {}
    }
    words.join(", ")
}

fn end(rule: &Json) -> String {
    let expires = text(rule, "expires");
    if expires.is_empty() { "never".to_owned() } else { format!("{}, in {}", moment(&expires), left(rule).0) }
}

fn hits(rule: &Json) -> String {
    let names = |key: &str| items(rule, key).iter().filter_map(Json::as_str).map(harmless).collect::<Vec<String>>();
    let (hits, may_hit) = (names("hits"), names("may_hit"));
    match (hits.is_empty(), may_hit.is_empty()) {
        (true, true) if rule.get("hits").is_none() => String::new(),
        (true, true) => "nobody who has asked so far".to_owned(),
        (false, _) => some(&hits),
        (true, false) => format!("{}, when they ask what it names", some(&may_hit)),
    }
}

fn shielded(rule: &Json) -> String {
    let shield = |one: &Json| format!("{} by {}", text(one, "client"), text(one, "by"));
    some(&items(rule, "shielded").iter().map(shield).collect::<Vec<String>>())
}

fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMES) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        Some(0) | None => shown,
    }
}

/// Whoever is at this terminal.
pub(crate) fn by_hand() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    // As in a container, or under cron.
    let user = user.unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()));
    let host = rustix::system::uname();
    format!("{user}@{}", host.nodename().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_new_rule_says_what_it_does_to_whom() {
        let rule = json!({
            "id": "throttle-etl", "match": { "user": "etl" }, "do": { "rejection_ratio": 0.9 }, "max_delay": "10s",
            "expires": "2026-04-21T16:00:00.500Z", "seconds_left": 7199, "ending": false, "expired": false,
            "in_force": "enforce", "reason": "INC-42", "created_by": "me@here",
            "hits": ["etl", "loader:etl"], "may_hit": [], "shielded": [{ "client": "web", "by": "web-first" }],
            "warnings": ["a client escapes it"],
        });
        assert_eq!(
            added(&rule, "added", &Style::PLAIN),
            "added throttle-etl\n\
             \x20 whom      user=etl\n\
             \x20 does      ratio 0.9, max_delay 10s\n\
             \x20 ends      2026-04-21T16:00:00Z, in 1h 59m\n\
             \x20 reason    INC-42\n\
             \x20 by        me@here\n\
             \x20 hits now  etl, loader:etl\n\
             \x20 shielded  web by web-first\n\
             warning: a client escapes it\n"
        );
    }

    #[test]
    fn whom_it_hits_in_words() {
        let many: Vec<String> = (0..25).map(|number| format!("c{number}")).collect();
        for (rule, shown) in [
            (json!({}), ""),
            (json!({ "hits": [], "may_hit": [] }), "nobody who has asked so far"),
            (json!({ "hits": [], "may_hit": ["etl"] }), "etl, when they ask what it names"),
        ] {
            assert_eq!(hits(&rule), shown);
        }
        assert!(hits(&json!({ "hits": many })).ends_with("c19 and 5 more"));
    }
}
