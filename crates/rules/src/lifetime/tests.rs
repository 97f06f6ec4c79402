use super::*;
use crate::samples::{NOW, matching_of, rule};

#[test]
fn the_shortest_lifetime_of_what_a_rule_does() {
    for (line, hours) in [
        ("a | user=a | ratio=0.9", 24),
        ("a | user=a | concurrency=4", 24),
        ("a | user=a | connections=4", 24),
        ("a | user=a | ratio=0.9 connections=4", 24),
        ("a | user=a | exempt", 1),
        ("a | user=a | hold", 1),
        ("a | user=a | hold concurrency=4", 1),
        ("a | user=a | threshold=lag:2", 4),
        ("a | user=a | threshold=lag:2 ratio=0.9", 4),
        ("a | user=a | skip=lag", 1),
        ("a | user=a | skip=lag threshold=threads:9", 1),
        ("a | user=a | weight=2", 24),
        ("a | scope=* | threshold=lag:2", 2),
        ("a | scope=* | ratio=0.9", 2),
        ("a | scope=* user=a | concurrency=4", 2),
        ("a | scope=a,* | ratio=0.9", 2),
        ("a | scope=* | exempt", 1),
        ("a | scope=*:* | ratio=0.9", 24),
        ("a | user=a !scope=* | ratio=0.9", 24),
        ("a | !user=a | ratio=0.9", 24),
    ] {
        assert_eq!(default_for(&rule(line)), HOUR * hours, "{line}");
    }
}

#[test]
fn a_warning_comes_ten_minutes_before_the_end() {
    let ends = |millis: i64| rule(&format!("a | user=a | hold expires={millis}"));
    let at = |millis: i64| Timestamp(NOW.0 + millis);
    assert_eq!(warning_at(&rule("a | user=a | hold")), None);
    assert_eq!(warning_at(&ends(3_600_000)), Some(at(3_000_000)));
    assert_eq!(warning_at(&Rule { created: Some(NOW), ..ends(60_000) }), Some(NOW));
    for (after, ending) in [(0, false), (2_999_999, false), (3_000_000, true), (3_599_999, true), (3_600_000, false)] {
        assert_eq!(is_ending(&ends(3_600_000), at(after)), ending, "{after}");
    }
    assert!(!is_ending(&rule("a | user=a | hold"), at(0)));
}

#[test]
fn renewing_and_adding_again_take_a_new_reason() {
    let with_reason = |line: &str, reason: Option<&str>| Rule { reason: reason.map(str::to_owned), ..rule(line) };
    let known = [
        with_reason("a | scope=etl class=write,ddl | hold runtime", Some("INC-42: lag")),
        with_reason("b | scope=etl class=ddl,write | ratio=0.5 runtime", None),
        with_reason("c | scope=app | hold runtime", None),
        with_reason("d | scope=file | hold", Some("standing")),
    ];
    for (matching, reason, expected) in [
        ("scope=etl class=ddl,write", Some("still lagging"), None),
        ("class=write,ddl scope=etl", Some("INC-42: lag"), Some("a")),
        ("scope=etl class=write,ddl", Some("  inc-42:  LAG. "), Some("a")),
        ("scope=etl class=write,ddl", None, Some("a")),
        ("scope=etl class=write,ddl", Some(" "), Some("a")),
        ("scope=etl class=write", Some("INC-42: lag"), None),
        ("scope=etl !class=write,ddl", Some("INC-42: lag"), None),
        ("scope=etl class=write,ddl user=a", None, None),
        ("scope=app", Some("first reason"), None),
        ("scope=app", None, Some("c")),
        // What the file says was not added.
        ("scope=file", None, None),
        ("scope=new", None, None),
    ] {
        let refused = check_reason(&known, &matching_of(matching), reason).err();
        let rule = refused.as_ref().map(|refused| match refused {
            StaleReason::Missing { rule } | StaleReason::Repeated { rule } => &**rule,
        });
        assert_eq!(rule, expected, "{matching} {reason:?}");
        let missing = reason.is_none_or(|reason| reason.trim().is_empty());
        assert_eq!(matches!(refused, Some(StaleReason::Missing { .. })), missing && expected.is_some());
    }
}
