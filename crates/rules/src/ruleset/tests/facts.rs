//! All conditions must hold, each by any of its values; `not`: none may hold.

use super::{check, judged};
use crate::samples::{NOW, asked, client, set};
use crate::{Mode, RuleSet};

const CLIENT: &str = "name=job-42:etl:warehouse user=loader address=10.2.3.4 listener=batch tool=gh-ost \
                      attr.program_name=loader tag.team=data query_attr.tenant=7";
const ASKED: &str = "class=write schema=shop shape=no_where,no_limit fingerprint=1 table=shop.orders";

#[test]
fn every_key_matches_what_it_is_about() {
    for (condition, holds) in [
        ("scope=etl", true),
        ("scope=et", false),
        ("scope=job-42:etl:warehouse", true),
        ("scope=job-42:etl", false),
        ("scope=job-*", true),
        ("scope=*:etl:*", true),
        ("scope=*:etl", false),
        ("scope=*.etl.*", false),
        ("scope=*", true),
        ("scope=loader", false),
        ("user=loader", true),
        ("user=Loader", false),
        ("address=10.2.3.4", true),
        ("address=10.2.3.5", false),
        ("address=10.2.0.0/16", true),
        ("address=10.3.0.0/16", false),
        ("address=0.0.0.0/0", true),
        ("address=::/0", false),
        ("listener=batch", true),
        ("listener=main", false),
        ("tool=gh-ost", true),
        ("tool=mysqldump", false),
        ("attr.program_name=loader", true),
        ("attr.program_name=other", false),
        ("tag.program_name=loader", false),
        ("tag.team=data", true),
        ("tag.team=", false),
        ("query_attr.tenant=7", true),
        ("query_attr.team=7", false),
        ("schema=shop", true),
        ("schema=stats", false),
        ("class=write", true),
        ("class=ddl", false),
        ("shape=no_where", true),
        ("shape=select_star", false),
        ("fingerprint=1", true),
        ("fingerprint=2", false),
        ("fingerprint=learnt", true),
        ("fingerprint=unheard-of", false),
        ("table=orders", true),
        ("table=shop.orders", true),
        ("table=stats.orders", false),
        ("table=other", false),
        ("user=a,loader,b", true),
        ("user=a,b", false),
        ("shape=select_star,no_limit", true),
        ("class=ddl,write", true),
        ("fingerprint=unheard-of,learnt", true),
        ("address=192.168.0.0/16,10.0.0.0/8", true),
        ("user=loader class=write", true),
        ("user=loader class=read", false),
        ("user=other class=write", false),
    ] {
        check(&[&format!("a | {condition} | hold")], CLIENT, ASKED, if holds { "a:-" } else { "-:-" });
        if condition.contains(' ') {
            continue;
        }
        // Negated, alone and beside a key that finds it.
        let expected = if holds { "-:-" } else { "a:-" };
        check(&[&format!("a | !{condition} | hold")], CLIENT, ASKED, expected);
        check(&[&format!("a | user=loader !{condition} | hold")], CLIENT, ASKED, expected);
    }
}

#[test]
fn what_is_not_known_fits_no_condition() {
    for condition in ["address=0.0.0.0/0", "tool=gh-ost", "tag.team=data", "schema=shop", "user=x", "table=orders"] {
        check(&[&format!("a | {condition} | hold")], "name=x", "", "-:-");
        check(&[&format!("a | !{condition} | hold")], "name=x", "", "a:-");
    }
}

#[test]
fn any_rule_is_found_among_many() {
    let kinds = [
        "scope=etl",
        "scope=job-42:etl:warehouse",
        "scope=job-*",
        "scope=*:etl:*",
        "user=loader",
        "address=10.2.3.4",
        "address=10.2.0.0/16",
        "listener=batch",
        "tool=gh-ost",
        "attr.program_name=loader",
        "tag.team=data",
        "query_attr.tenant=7",
        "class=write",
        "schema=shop",
        "shape=no_where",
        "fingerprint=1",
        "table=orders",
    ];
    // Each pair of keys, once rare and once too common to stand under it: whichever finds it, it is found.
    for one in kinds {
        for other in kinds.iter().filter(|other| key(other) != key(one)) {
            let wanted = format!("wanted | {one} {other} | hold");
            let crowd: Vec<String> = (0..20).map(|n| format!("crowd-{n} | {one} tag.crowd={n} | hold")).collect();
            let mut lines: Vec<&str> = crowd.iter().map(String::as_str).collect();
            lines.push(&wanted);
            check(&lines, CLIENT, ASKED, "wanted:-");
        }
    }
}

fn key(condition: &str) -> &str {
    condition.split('=').next().unwrap()
}

#[test]
fn a_fingerprint_is_made_only_for_a_rule_that_needs_it() {
    let fingerprints = |set: &RuleSet, line: &str, text: &str| {
        let (client, asked) = (client(line), asked(text));
        set.judge(&set.candidates(&client), &client, &asked, NOW, Mode::Enforce);
        asked.fingerprints.get()
    };
    let lines: Vec<String> = (1..40).map(|n| format!("r{n} | fingerprint={n} class=write | hold")).collect();
    let indexed = set(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(fingerprints(&indexed, "user=a", "class=read"), 0);
    assert_eq!(fingerprints(&indexed, "user=a", "class=write"), 1);
    let by_user = set(&["a | fingerprint=1 user=a | hold"]);
    assert_eq!(fingerprints(&by_user, "user=b", ""), 0);
    assert!(fingerprints(&by_user, "user=a", "") > 0);
    assert_eq!(fingerprints(&set(&["a | user=a | hold"]), "user=a", ""), 0);
}

#[test]
fn candidates_are_those_of_an_identity_alone() {
    let set = set(&[
        "scope | scope=etl | hold",
        "user | user=a class=write | hold",
        "other | user=b | hold",
        "not | scope=etl !tool=gh-ost | hold",
        "what | class=write | hold",
        "off | user=a | hold off",
        "table | user=a table=t | hold",
    ]);
    let mut candidates = set.candidates(&client("user=b"));
    assert_eq!(candidates.len(), 1);
    for (line, count) in [("name=etl:etl user=a", 4), ("name=etl user=a tool=gh-ost", 3), ("name=x", 0)] {
        set.candidates_into(&client(line), &mut candidates);
        assert_eq!((candidates.len(), candidates.is_empty()), (count, count == 0), "{line}");
    }
}

#[test]
fn candidates_of_another_generation_do_no_harm() {
    let many = set(&["a | user=a | hold", "b | user=a | hold", "c | user=a | hold"]);
    let few = set(&["a | user=b | hold"]);
    let (client, asked) = (client("user=a"), asked(""));
    let stale = many.candidates(&client);
    // Whatever it says, it says it without a panic.
    few.judge(&stale, &client, &asked, NOW, Mode::Enforce);
    assert_eq!(judged(&few, "user=a", "", NOW).0, "-:-");
}
