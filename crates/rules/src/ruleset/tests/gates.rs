//! Thresholds, skipped gates and weights: each owned as every other field, and judged on claims and on facts.

use crate::samples::{NOW, asked, client, set};
use crate::{Fields, Judgement, Mode, RuleSet};

const CLIENT: &str = "name=job-42:etl:warehouse user=etl address=10.2.3.4";

/// `lag 2, threads 40, skips lag, weight 3`; a gate's own threshold is 100 and not said.
fn told(fields: &Fields<'_>) -> String {
    let gates = ["lag", "threads", "delay"];
    let thresholds = gates.iter().filter(|gate| fields.threshold_owner(gate).is_some());
    let mut words: Vec<String> = thresholds.map(|gate| format!("{gate} {}", fields.threshold(gate, 100.0))).collect();
    words.extend(gates.iter().filter(|gate| fields.skips(gate)).map(|gate| format!("skips {gate}")));
    words.extend(fields.weight_owner().map(|_| format!("weight {}", fields.weight())));
    assert_eq!(fields.has_skips(), gates.iter().any(|gate| fields.skips(gate)));
    assert_eq!(fields.has_thresholds(), gates.iter().any(|gate| fields.threshold_owner(gate).is_some()));
    words.join(", ")
}

fn judge<'s>(set: &'s RuleSet, who: &str, what: &str) -> Judgement<'s> {
    let (client, asked) = (client(who), asked(what));
    set.judge(&set.candidates(&client), &client, &asked, NOW, Mode::Enforce)
}

#[track_caller]
fn check(rules: &[&str], what: &str, expected: &str) {
    assert_eq!(told(&judge(&set(rules), CLIENT, what).enforced), expected, "{rules:#?} {what}");
    let reversed: Vec<&str> = rules.iter().rev().copied().collect();
    assert_eq!(told(&judge(&set(&reversed), CLIENT, what).enforced), expected, "reversed {rules:#?} {what}");
}

#[test]
fn the_most_specific_owns_then_the_stricter() {
    for (rules, expected) in [
        (&["a | user=etl | threshold=lag:2"][..], "lag 2"),
        (&["a | user=other | threshold=lag:2 skip=lag weight=3"], ""),
        // A looser one too: its owner is known by facts.
        (&["a | user=etl | threshold=lag:500"], "lag 500"),
        (&["a | user=etl class=read | threshold=lag:9", "b | user=etl | threshold=lag:2"], "lag 9"),
        (&["a | user=etl | threshold=lag:9", "b | scope=etl | threshold=lag:2"], "lag 2"),
        (&["a | scope=* | threshold=lag:2", "b | user=etl | threshold=lag:9 priority=-1"], "lag 2"),
        (&["a | user=etl class=read | weight=9", "b | user=etl | weight=0.5"], "weight 9"),
        (&["a | user=etl | weight=9", "b | scope=etl | weight=0.5"], "weight 0.5"),
        (&["a | user=etl class=read | skip=lag", "b | user=etl | skip=threads"], "skips lag"),
        (&["a | user=etl class=read | skip=", "b | user=etl | skip=threads"], ""),
        // Alike: what both skip.
        (&["a | user=etl | skip=lag,delay", "b | scope=etl | skip=threads,delay"], "skips delay"),
        (&["a | user=etl | skip=lag", "b | scope=etl | skip="], ""),
    ] {
        check(rules, "", expected);
    }
}

#[test]
fn each_gate_has_an_owner_of_its_own() {
    check(
        &[
            "narrow | user=etl class=read | threshold=threads:40",
            "wide | user=etl | threshold=lag:2 threshold=threads:10 weight=2",
            "skips | scope=* | skip=delay",
        ],
        "",
        "lag 2, threads 40, skips delay, weight 2",
    );
}

#[test]
fn of_file_and_run_time_the_stricter_stands() {
    for (rules, expected) in [
        (["f | user=etl | threshold=lag:2", "r | scope=* | threshold=lag:1 runtime"], "lag 1"),
        (["f | scope=* | threshold=lag:2", "r | user=etl | threshold=lag:9 runtime"], "lag 2"),
        (["f | scope=* | threshold=lag:2", "r | user=etl | threshold=lag:9 runtime override"], "lag 9"),
        (["f | scope=* | threshold=lag:2", "r | user=etl | threshold=threads:9 runtime"], "lag 2, threads 9"),
        (["f | user=etl | skip=lag", "r | scope=* | skip=lag,threads runtime"], "skips lag"),
        (["f | user=etl | skip=lag", "r | scope=* | skip=threads runtime"], ""),
        (["f | user=etl | skip=lag", "r | scope=* | skip=threads runtime override"], "skips threads"),
        (["f | user=x | skip=lag", "r | user=etl | skip=threads runtime"], "skips threads"),
        (["f | user=etl | weight=2", "r | scope=* | weight=0.5 runtime"], "weight 0.5"),
        (["f | user=etl | weight=0.5", "r | scope=* | weight=2 runtime"], "weight 0.5"),
        (["f | user=etl | weight=0.5", "r | scope=* | weight=2 runtime override"], "weight 2"),
    ] {
        check(&rules, "", expected);
    }
}

#[test]
fn a_claim_makes_it_stricter_and_never_easier() {
    let rules = set(&[
        "loose | tag.tier=gold | threshold=lag:500 skip=lag,delay weight=9",
        "strict | tag.tier=bulk | threshold=lag:2 weight=0.5",
        "known | user=app | threshold=threads:50 skip=delay",
        "bulk | user=app tag.tier=bulk | threshold=threads:900 skip=lag",
    ]);
    for (user, claim, lag, threads, skips, weight) in [
        ("web", "", 100.0, 100.0, "", 1.0),
        ("web", "tag.tier=gold", 100.0, 100.0, "", 1.0),
        ("web", "tag.tier=bulk", 2.0, 100.0, "", 0.5),
        ("app", "", 100.0, 50.0, "delay", 1.0),
        ("app", "tag.tier=gold", 100.0, 50.0, "delay", 1.0),
        // Both say something of threads; the lower stands, and neither skips what the other does.
        ("app", "tag.tier=bulk", 2.0, 50.0, "", 0.5),
    ] {
        let trusted = judge(&rules, &format!("user={user}"), "");
        let claimed = judge(&rules, &format!("user={user} {claim}"), "");
        for stands in [trusted.clone().stricter(claimed.clone()), claimed.stricter(trusted)] {
            let fields = stands.enforced;
            assert_eq!(fields.threshold("lag", 100.0), lag, "{user} {claim}");
            assert_eq!(fields.threshold("threads", 100.0), threads, "{user} {claim}");
            assert_eq!(fields.threshold("unheard-of", 100.0), 100.0);
            let skipped = ["lag", "delay"].into_iter().filter(|gate| fields.skips(gate)).collect::<Vec<_>>().join(",");
            assert_eq!((skipped.as_str(), fields.weight()), (skips, weight), "{user} {claim}");
        }
    }
    // A looser one on facts stands, also where a stranger's would not.
    let rules = set(&["loose | user=app | threshold=lag:500"]);
    let trusted = judge(&rules, "user=app", "");
    assert_eq!(trusted.stricter(judge(&rules, "user=app tag.a=b", "")).enforced.threshold("lag", 100.0), 500.0);
}

#[test]
fn the_gates_own_counts_where_one_side_has_no_owner() {
    let rules = set(&["claimed | tag.a=b | threshold=lag:50"]);
    let stands = judge(&rules, "user=x", "").stricter(judge(&rules, "user=x tag.a=b", "")).enforced;
    for (own, threshold) in [(5.0, 5.0), (50.0, 50.0), (500.0, 50.0)] {
        assert_eq!(stands.threshold("lag", own), threshold);
    }
    assert_eq!(stands.threshold_owner("lag").map(|rule| &*rule.id), Some("claimed"));
}

#[test]
fn tables_favour_only_as_a_whole() {
    let rules = ["t | table=t | threshold=lag:500 skip=lag weight=9", "u | table=u | threshold=lag:2 weight=0.5"];
    for (what, expected) in [
        ("table=t", "lag 500, skips lag, weight 9"),
        ("table=u", "lag 2, weight 0.5"),
        ("table=t,u", "lag 2, weight 0.5"),
        // The gate's own for the table that nobody says anything of.
        ("table=t,v", "lag 100"),
        ("table=u,v", "lag 2, weight 0.5"),
        ("table=?", "lag 2, weight 0.5"),
        ("table=v", ""),
    ] {
        check(&rules, what, expected);
    }
}

#[test]
fn rules_that_warn_own_nothing_yet() {
    let rules = set(&[
        "w | user=etl class=read | threshold=lag:2 skip=threads weight=3 warn",
        "e | user=etl | threshold=lag:9",
        "off | user=etl class=read | threshold=lag:1 off",
    ]);
    let judgement = judge(&rules, CLIENT, "");
    assert_eq!(told(&judgement.enforced), "lag 9");
    assert_eq!(judgement.with_warned.as_ref().map(told).as_deref(), Some("lag 2, skips threads, weight 3"));
}

#[test]
fn every_owner_is_counted_once() {
    let rules = set(&[
        "all | user=etl class=read | ratio=0.5 concurrency=4 threshold=lag:2 threshold=threads:9 skip=delay weight=2",
        "other | user=etl | threshold=delay:3 weight=9",
    ]);
    let fields = judge(&rules, CLIENT, "").enforced;
    assert_eq!(fields.owners().map(|rule| &*rule.id).collect::<Vec<_>>(), ["all", "other"]);
    fields.count(NOW);
    assert_eq!(rules.rules().iter().map(|rule| rule.hits().matched()).collect::<Vec<_>>(), [1, 1]);
    for (rule, empty) in [
        ("a | user=etl | threshold=lag:2", false),
        ("a | user=etl | skip=lag", false),
        ("a | user=etl | weight=2", false),
        ("a | user=x | weight=2", true),
    ] {
        assert_eq!(judge(&set(&[rule]), CLIENT, "").enforced.is_empty(), empty, "{rule}");
    }
}

#[test]
fn there_are_places_for_eight_thresholds_and_the_rest_keep_their_own() {
    let lines: Vec<String> = (0..12).map(|n| format!("r{n} | user=etl | threshold=g{n}:{}", n + 1)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let rules = set(&lines);
    let fields = judge(&rules, CLIENT, "").enforced;
    let thresholds: Vec<f64> = (0..12).map(|n| fields.threshold(&format!("g{n}"), 100.0)).collect();
    assert_eq!(thresholds, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 100.0, 100.0, 100.0, 100.0]);
}

#[test]
fn a_login_passes_a_gate_by_rules_on_connections() {
    let rules = set(&[
        "user | user=ops | exempt",
        "skips | user=batch schema=shop | skip=connections threshold=connections:0.5",
        "class | user=web class=read | exempt",
        "stricter | user=web | skip=lag threshold=connections:0.8",
        "claim | attr.program_name=tool | exempt",
        "warned | user=slow | skip=connections warn",
    ]);
    for (who, schema, skips, would, threshold) in [
        ("user=ops", None, true, true, 0.9),
        ("user=batch", None, false, false, 0.9),
        ("user=batch", Some("shop"), true, true, 0.5),
        // A rule on statements says nothing of a login.
        ("user=web", None, false, false, 0.8),
        ("user=nobody attr.program_name=tool", None, false, false, 0.9),
        ("user=slow", None, false, true, 0.9),
    ] {
        let judge = |line: &str| {
            let client = client(line);
            let schema = schema.map(str::as_bytes);
            rules.judge_login(&rules.candidates(&client), &client, schema, NOW, Mode::Enforce)
        };
        let known = who.split_whitespace().next().unwrap();
        let stands = judge(known).stricter(judge(who));
        assert_eq!((stands.skips("connections"), stands.would_skip("connections")), (skips, would), "{who}");
        assert_eq!(stands.threshold("connections", 0.9), threshold, "{who}");
        assert_eq!(stands.threshold_owner("connections").is_some(), threshold < 0.9);
    }
}
