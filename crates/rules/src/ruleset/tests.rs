//! Each sentence of the specification about who owns what.

use crate::samples::{NOW, asked, client, rule, set};
use crate::{Fields, Mode, RuleSet, Timestamp};

mod facts;
mod gates;
mod owners;
mod tables;
mod time;

/// `share:concurrency,concurrency`, each `-` if nobody owns it.
fn owners(fields: &Fields<'_>) -> String {
    let share = fields.share.map_or("-".to_owned(), |rule| rule.id.to_string());
    let mut limits: Vec<String> = fields.concurrency.iter().map(|rule| rule.id.to_string()).collect();
    limits.sort();
    let limits = if limits.is_empty() { "-".to_owned() } else { limits.join(",") };
    format!("{share}:{limits}")
}

fn judged(set: &RuleSet, client_line: &str, asked_line: &str, now: Timestamp) -> (String, Option<String>) {
    let (client, asked) = (client(client_line), asked(asked_line));
    let judgement = set.judge(&set.candidates(&client), &client, &asked, now, Mode::Enforce);
    (owners(&judgement.enforced), judgement.with_warned.as_ref().map(owners))
}

#[track_caller]
fn check(rules: &[&str], client: &str, asked: &str, expected: &str) {
    assert_eq!(judged(&set(rules), client, asked, NOW).0, expected, "{rules:#?} {client} {asked}");
    // The order of the rules never matters.
    let reversed: Vec<&str> = rules.iter().rev().copied().collect();
    assert_eq!(judged(&set(&reversed), client, asked, NOW).0, expected, "reversed {rules:#?} {client} {asked}");
}

#[test]
fn deprioritise_everyone_but_this_one() {
    let rules = ["everyone | scope=* | ratio=0.9", "favoured | scope=payments | ratio=0"];
    for (name, owner) in [
        ("payments", "favoured:-"),
        ("job-42:payments", "favoured:-"),
        ("payments2", "everyone:-"),
        ("pay:ments", "everyone:-"),
        ("unattributed", "everyone:-"),
        ("etl:warehouse", "everyone:-"),
    ] {
        check(&rules, &format!("name={name}"), "", owner);
    }
}

#[test]
fn the_unattributed_have_rules_of_their_own() {
    let rules = ["everyone | scope=* | ratio=0.1", "nobody | scope=unattributed | ratio=0.9"];
    for (name, owner) in [
        ("unattributed", "nobody:-"),
        ("", "nobody:-"),
        ("unattributed_", "everyone:-"),
        ("etl:warehouse", "everyone:-"),
        ("__overflow__", "everyone:-"),
    ] {
        check(&rules, &format!("name={name}"), "", owner);
    }
}

#[test]
fn an_empty_set_owns_nothing() {
    let set = set(&[]);
    assert!(set.is_empty());
    assert_eq!(judged(&set, "user=a", "", NOW), ("-:-".to_owned(), None));
    assert_eq!(set.next_change(NOW), None);
}

#[test]
fn a_claim_makes_it_stricter_and_never_easier() {
    let rules = [
        "user | user=app | ratio=0.5 concurrency=8",
        "gold | user=app tag.tier=gold | exempt",
        "bulk | user=app tag.tier=bulk | ratio=0.9 concurrency=2",
        "favour | scope=payments | ratio=0",
        "strict | scope=etl | hold",
    ];
    for (claims, expected) in [
        ("", "user:user"),
        ("tag.tier=gold", "user:user"),
        ("tag.tier=bulk", "bulk:bulk,user"),
        ("tag.tier=none", "user:user"),
        ("name=payments", "user:user"),
        ("name=etl", "strict:user"),
        ("name=etl tag.tier=bulk", "bulk:bulk,user"),
    ] {
        let set = set(&rules);
        let judge = |line: &str| {
            let client = client(line);
            set.judge(&set.candidates(&client), &client, &asked(""), NOW, Mode::Enforce)
        };
        let stands = judge("user=app").stricter(judge(&format!("user=app {claims}")));
        assert_eq!(owners(&stands.enforced), expected, "{claims}");
    }
}

#[test]
fn counts_go_on_in_the_next_generation() {
    let first = set(&["a | user=a | ratio=0.5", "b | user=b | ratio=0.5 concurrency=1"]);
    let client = client("user=b");
    let judgement = first.judge(&first.candidates(&client), &client, &asked(""), NOW, Mode::Enforce);
    judgement.enforced.count(NOW);
    judgement.enforced.count(Timestamp(NOW.0 + 5));
    let second = RuleSet::after(&first, ["b | user=c | hold", "c | user=a | hold"].map(rule).into(), &|_| None);
    let counted: Vec<_> =
        second.rules().iter().map(|rule| (&*rule.id, rule.hits().matched(), rule.hits().last())).collect();
    // Once a decision, whatever it owns.
    assert_eq!(counted, [("b", 2, Some(Timestamp(NOW.0 + 5))), ("c", 0, None)]);
}
