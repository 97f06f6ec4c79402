//! A key without documentation, and a documented key that there is not, are both mistakes.

use std::collections::BTreeSet;

use crate::keys;

/// Keys that hold nothing but other keys are headings in the documentation, and `listen`'s own are shown as an item's.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../../docs/configuration.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(key, _)| key.replace("listen[]", "listen")).collect()
}

fn acting() -> BTreeSet<String> {
    let all = keys();
    let is_section = |key: &String| key != "listen" && all.iter().any(|other| other.starts_with(&format!("{key}.")));
    all.iter().filter(|key| !is_section(key)).cloned().collect()
}

#[test]
fn the_page_names_every_key_and_no_other() {
    assert!(acting().len() > 80, "{:?}", acting());
    assert_eq!(documented(), acting());
}

#[test]
fn every_row_is_whole() {
    let page = include_str!("../../../../docs/configuration.md");
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "key, default, meaning, effect: {row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
    }
}

#[test]
fn the_starter_names_every_key() {
    let starter = include_str!("../../../../proxy.yaml");
    // The last two are of run-time rules only.
    let elsewhere = ["gates", "budgets", "rules[].override", "rules[].playbook"];
    for key in acting().iter().filter(|key| !elsewhere.contains(&key.as_str()) && !key.ends_with('*')) {
        let name = key.rsplit('.').next().unwrap_or(key);
        assert!(starter.contains(&format!("{name}:")), "{key}");
    }
}
