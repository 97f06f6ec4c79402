use crate::samples::{NOW, asked, client, rule, set};
use crate::{Active, Days, Mode, Rule, RuleSet};

#[track_caller]
fn check(set: &RuleSet, client_line: &str, asked_line: &str, expected: &[&str]) {
    let considered = set.explain(&client(client_line), &asked(asked_line), NOW, Mode::Enforce);
    let told: Vec<String> = considered.iter().map(|one| format!("{}: {}", one.rule.id, one.outcome)).collect();
    assert_eq!(told, expected, "{client_line} {asked_line}");
    for one in considered {
        let alone = set.explain_rule(one.rule, &client(client_line), &asked(asked_line), NOW, Mode::Enforce);
        assert_eq!(alone, one.outcome);
    }
}

#[test]
fn every_rule_says_why() {
    let rules = set(&[
        "scope | scope=etl | ratio=0.5",
        "all | scope=* | ratio=0.9 concurrency=9",
        "user | user=b | hold",
        "tag | tag.team=data | hold",
        "address | address=10.0.0.0/8 | hold",
        "class | class=ddl | hold",
        "shape | shape=no_where,no_limit | hold",
        "not | scope=etl !class=read,write | hold",
        "not-who | !user=a | hold",
        "off | scope=etl | hold off",
        "past | scope=etl | hold expires=-1000",
        "digest | fingerprint=unheard-of | hold",
        "table | table=b | hold",
    ]);
    check(
        &rules,
        "name=job-1:etl user=a",
        "class=read shape=select_star fingerprint=7 table=a,s.c",
        &[
            "scope: matches, owns share",
            "all: matches; its max_concurrency counts; share is owned by scope, which fits more exactly",
            "off: would match, but is off",
            "past: would match, but ended at 1970-01-01T00:16:39Z",
            "user: user does not fit: a",
            "tag: tag.team does not fit: nothing",
            "address: address does not fit: nothing",
            "class: class does not fit: read",
            "shape: shape does not fit: select_star",
            "not: class is left out by `not`: read",
            "not-who: user is left out by `not`: a",
            "digest: fingerprint does not fit: 00000000000000000000000000000007",
            "table: table does not fit: a, s.c",
        ],
    );
}

#[test]
fn gates_are_fields_of_their_own() {
    let rules = set(&[
        "both | user=a | threshold=lag:2 threshold=threads:9 weight=2",
        "one | user=a class=read | threshold=lag:5 skip=delay",
    ]);
    check(
        &rules,
        "user=a",
        "",
        &[
            "both: matches, owns weight and thresholds.threads; thresholds.lag is owned by one, which has more keys",
            "one: matches, owns skip_gates and thresholds.lag",
        ],
    );
}

#[test]
fn a_rule_says_whom_it_concerns() {
    let set = set(&["a | scope=etl !user=x class=write | hold", "b | scope=*.etl.* | hold"]);
    let concerned = |line: &str| set.rules().iter().map(|rule| rule.concerns(&client(line))).collect::<Vec<_>>();
    assert_eq!(concerned("name=etl user=a"), [true, false]);
    assert_eq!(concerned("name=etl user=x"), [false, false]);
    assert_eq!(concerned("name=app user=a"), [false, false]);
}

#[test]
fn a_shield_has_a_name_and_a_reason() {
    for (rules, expected) in [
        (&["a | user=a | hold priority=1", "b | user=a class=read | hold"][..], "share is owned by a, by its priority"),
        (&["a | user=a class=read | ratio=0", "b | user=a | hold"], "share is owned by a, which has more keys"),
        (&["a | user=a | ratio=0", "b | scope=x* | hold"], "share is owned by a, which fits more exactly"),
        (&["a | user=a | hold", "b | scope=x | ratio=0.5"], "share is owned by a, which is stricter"),
        (&["a | user=a | hold", "b | scope=x | hold"], "share is owned by a, which is alike and comes first by its id"),
        (
            &["a | scope=* | hold", "b | user=a | exempt runtime"],
            "share is owned by a, since of the file and the run time the stricter stands",
        ),
        (&["a | scope=* | exempt runtime override", "b | user=a | hold"], "share is owned by a, which overrides"),
        (
            &["a | scope=* | ratio=0.5", "b | user=a table=t | exempt"],
            "share is owned by a, since the rule matches in part or in doubt, and is not stricter",
        ),
        (
            &["b | user=a table=t | exempt"],
            "share is owned by nobody, since the rule matches in part or in doubt, and is not stricter",
        ),
        (
            &["a | user=a class=read | concurrency=5 runtime override", "b | user=a | concurrency=1"],
            "its max_concurrency is replaced by a, which overrides",
        ),
        (
            &["a | user=a table=t | concurrency=5 runtime override", "b | user=a table=t | concurrency=1"],
            "its max_concurrency is replaced by a, which overrides",
        ),
        (
            &["a | user=a listener=l | connections=5 runtime override", "b | user=a | connections=1"],
            "its max_connections is replaced by a, which overrides",
        ),
        (
            &["a | user=a class=read | threshold=lag:5", "b | user=a | threshold=lag:1"],
            "thresholds.lag is owned by a, which has more keys",
        ),
        (
            &["a | user=a | threshold=lag:1", "b | scope=x | threshold=lag:5"],
            "thresholds.lag is owned by a, which is stricter",
        ),
        (
            &["a | scope=* | skip=", "b | user=a | skip=lag runtime"],
            "skip_gates is owned by a, since of the file and the run time the stricter stands",
        ),
        (
            &["a | user=a listener=l | skip=lag", "b | user=a | skip=lag"],
            "skip_gates is owned by a, which has more keys",
        ),
        (
            &["a | scope=* | weight=2 runtime override", "b | user=a | weight=1"],
            "weight is owned by a, which overrides",
        ),
        (
            &["b | user=a class=read | connections=1"],
            "its max_connections does not count, since not all of its keys are known at login",
        ),
    ] {
        let set = set(rules);
        let client = client("user=a name=x listener=l");
        let considered = set.explain(&client, &asked("table=t,u"), NOW, Mode::Enforce);
        let told: Vec<String> = considered.iter().map(|one| format!("{}: {}", one.rule.id, one.outcome)).collect();
        let wanted = |told: &&String| told.starts_with("b: matches") && told.ends_with(&format!("; {expected}"));
        assert_eq!(told.iter().filter(wanted).count(), 1, "{told:#?}");
    }
}

#[test]
fn every_matching_limit_counts_and_says_so() {
    let rules = set(&[
        "narrow | user=a class=read | concurrency=9 connections=1 ratio=0.5",
        "wide | user=a | concurrency=1 connections=5",
        "all | scope=* | concurrency=50 connections=50 runtime",
        "trial | scope=* | concurrency=2 connections=2 warn",
    ]);
    check(
        &rules,
        "user=a name=x",
        "",
        &[
            "narrow: matches, owns share; its max_concurrency counts; \
             its max_connections does not count, since not all of its keys are known at login",
            "wide: matches; its max_concurrency and max_connections count",
            "all: matches; its max_concurrency and max_connections count",
            "trial: matches; its max_concurrency and max_connections would count",
        ],
    );
}

#[test]
fn parts_warnings_and_hours_are_told() {
    let warned = set(&["a | user=a table=t | hold warn", "b | user=a | ratio=0.5"]);
    check(&warned, "user=a", "table=t,u", &["a: matches in part, would own share", "b: matches, owns share"]);
    let hours = Active { days: Days::ALL, from: 60, to: 120, tz: jiff::tz::TimeZone::UTC };
    let never = Active { days: Days(0), ..hours.clone() };
    let rules = vec![
        Rule { active: Some(hours), ..rule("hours | user=a | hold") },
        Rule { active: Some(never), ..rule("never | user=a | hold") },
    ];
    check(
        &RuleSet::new(rules, &|_| None),
        "user=a",
        "",
        &["hours: would match, but not before 1970-01-01T01:00:00Z", "never: would match, but never in these hours"],
    );
}
