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
    let elsewhere = ["budgets", "rules[].override", "rules[].playbook"];
    for key in acting().iter().filter(|key| !elsewhere.contains(&key.as_str()) && !key.ends_with('*')) {
        let name = key.rsplit('.').next().unwrap_or(key);
        assert!(starter.contains(&format!("{name}:")), "{key}");
    }
}

/// The blocks of the page about rules that are indented by four, without the indentation.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/rules.md");
    let paragraphs = page.split("\n\n").filter(|paragraph| paragraph.starts_with("    "));
    paragraphs.map(|block| block.lines().map(|line| format!("{}\n", &line[4..])).collect()).collect()
}

#[test]
fn the_examples_of_the_page_about_rules_are_accepted() {
    let (json, yaml): (Vec<String>, Vec<String>) = examples().into_iter().partition(|text| text.starts_with('{'));
    assert_eq!((json.len(), yaml.len()), (1, 6));
    for example in yaml {
        let text = format!(
            "upstream: {{ address: 127.0.0.1, replicas: discover }}\nprobe: {{ user: a, password: 'env:PASSWORD' }}\n{example}"
        );
        let (plan, warnings) = super::load_text(&text).unwrap();
        assert!(!plan.policy.rules.is_empty() || !plan.policy.playbooks.is_empty());
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    crate::rule::from_json_text(&json[0], &[], super::now()).unwrap();
}

#[test]
fn the_example_for_perconas_tools_is_accepted() {
    let page = include_str!("../../../../docs/gates.md");
    let section = page.split("\n## Percona's tools\n").nth(1).expect("the section");
    let block = section.split("\n\n").find(|paragraph| paragraph.starts_with("    ")).expect("the example");
    let example: String = block.lines().map(|line| format!("{}\n", &line[4..])).collect();
    let text = format!(
        "upstream: {{ address: 127.0.0.1, replicas: discover }}\nprobe: {{ user: a, password: 'env:PASSWORD' }}\n{example}"
    );
    let (plan, warnings) = super::load_text(&text).unwrap();
    assert_eq!(plan.policy.gates.len(), 3);
    assert!(warnings.is_empty(), "{warnings:?}");
}
