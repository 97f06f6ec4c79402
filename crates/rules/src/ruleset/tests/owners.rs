//! Of the matching rules that set a field, the most specific owns it.

use super::{check, judged};
use crate::samples::{NOW, asked, client, set};
use crate::{MatchingLimits, Mode};

const CLIENT: &str = "name=job-42:etl:warehouse user=etl address=10.2.3.4 tag.team=data";

#[test]
fn priority_then_keys_then_exactness_then_strictness_then_id() {
    for (what, rules, owner) in [
        ("higher priority", ["a | user=etl | ratio=0.1 priority=1", "b | user=etl class=read | ratio=0.9"], "a:-"),
        ("no priority is 0", ["a | user=etl class=read | ratio=0.9 priority=-1", "b | scope=* | ratio=0.1"], "b:-"),
        ("more keys", ["a | user=etl class=read | ratio=0.1", "b | user=etl | ratio=0.9"], "a:-"),
        ("a key under not counts", ["a | user=etl !class=ddl | ratio=0.1", "b | user=etl | ratio=0.9"], "a:-"),
        (
            "three keys, all globs",
            ["a | scope=job-* address=10.0.0.0/8 class=read | ratio=0.1", "b | user=etl class=read | ratio=0.9"],
            "a:-",
        ),
        ("a list is one key", ["a | user=etl,a,b | ratio=0.1", "b | user=etl | ratio=0.9"], "b:-"),
        ("exact over glob", ["a | scope=etl | ratio=0.1", "b | scope=*:etl:* | ratio=0.9"], "a:-"),
        ("any part is exact", ["a | scope=warehouse | ratio=0.1", "b | scope=job-* | ratio=0.9"], "a:-"),
        ("glob over network", ["a | scope=job-* | ratio=0.1", "b | address=10.2.3.0/24 | ratio=0.9"], "a:-"),
        ("exact over network", ["a | user=etl | ratio=0.1", "b | address=10.2.3.0/24 | ratio=0.9"], "a:-"),
        ("the longest prefix", ["a | address=10.2.0.0/16 | ratio=0.1", "b | address=10.0.0.0/8 | ratio=0.9"], "a:-"),
        ("one address is exact", ["a | address=10.2.3.4 | ratio=0.1", "b | scope=job-* | ratio=0.9"], "a:-"),
        ("anybody is the least", ["a | address=0.0.0.0/1 | ratio=0.1", "b | scope=* | ratio=0.9"], "a:-"),
        ("the value that fits best", ["a | scope=x,etl,job-* | ratio=0.1", "b | scope=job-* | ratio=0.9"], "a:-"),
        ("not the value that would", ["a | scope=x,job-* | ratio=0.1", "b | scope=etl | ratio=0.05"], "b:-"),
        (
            "best network of a list",
            ["a | address=10.0.0.0/8,10.2.0.0/15 | ratio=0.1", "b | address=10.0.0.0/9 | ratio=0.9"],
            "a:-",
        ),
        (
            "more exact keys",
            ["a | scope=etl address=10.0.0.0/8 | ratio=0.1", "b | scope=job-* address=10.2.0.0/16 | ratio=0.9"],
            "a:-",
        ),
        ("exact is exact, whatever the key", ["a | tag.team=data | ratio=0.1", "b | user=etl | ratio=0.9"], "b:-"),
        ("the stricter ratio", ["a | user=etl | ratio=0.1", "b | user=etl | ratio=0.9"], "b:-"),
        ("hold over ratio", ["a | user=etl | ratio=1", "b | user=etl | hold"], "b:-"),
        ("ratio 0 over exempt", ["a | user=etl | exempt", "b | user=etl | ratio=0"], "b:-"),
        ("the id", ["b | user=etl | ratio=0.5", "a | scope=etl | ratio=0.5"], "a:-"),
    ] {
        eprintln!("{what}");
        check(&rules, CLIENT, "", owner);
    }
}

#[test]
fn each_field_has_an_owner_of_its_own() {
    check(
        &[
            "share | user=etl class=read | ratio=0.5",
            "limit | user=etl | concurrency=4",
            "both | scope=* | ratio=0.9 concurrency=1",
        ],
        CLIENT,
        "",
        "share:both,limit",
    );
    // The three names of one field.
    check(&["a | user=etl class=read | exempt", "b | user=etl | hold", "c | scope=* | ratio=1"], CLIENT, "", "a:-");
}

#[test]
fn every_matching_limit_counts() {
    let (wide, narrow) = ("wide | user=etl | concurrency=2", "narrow | user=etl class=read | concurrency=2");
    for (rules, counting) in [
        (&[wide, narrow][..], "narrow,wide"),
        (&[narrow, wide], "narrow,wide"),
        (&[wide, "narrow | user=etl class=read | concurrency=9 priority=5 runtime"], "narrow,wide"),
        (&["a | scope=* | concurrency=1", "b | user=etl | concurrency=1", "c | user=etl | concurrency=1"], "a,b,c"),
        (&[wide, "other | user=etl class=write | concurrency=1"], "wide"),
        // Replaced: those of the file, by one that matches itself.
        (&[wide, narrow, "r | scope=* | concurrency=50 runtime override"], "r"),
        (&[wide, "r | user=etl class=write | concurrency=50 runtime override"], "wide"),
        (&[wide, "r | user=etl | concurrency=50 runtime override", "s | scope=* | concurrency=1 runtime"], "r,s"),
        (&[wide, "r | user=etl | ratio=0 runtime override"], "wide"),
        (&["f | user=etl | concurrency=9 override", wide], "f,wide"),
        (&["hb | scope=* | concurrency=1 built-in", wide, "r | scope=* | concurrency=5 runtime override"], "hb,r"),
    ] {
        let (found, _) = judged(&set(rules), CLIENT, "", NOW);
        assert_eq!(found.split(':').nth(1), Some(counting), "{rules:?}");
    }
}

#[test]
fn override_on_one_table_replaces_no_other_tables_limit() {
    let rules = &["f | user=etl | concurrency=1", "r | user=etl table=t | concurrency=9 runtime override"];
    for (tables, counting) in [("t", "-:r"), ("u", "-:f"), ("t,u", "-:f,r"), ("?", "-:f,r")] {
        check(rules, CLIENT, &format!("table={tables}"), counting);
    }
}

#[test]
fn of_file_and_run_time_the_stricter_stands() {
    for (rules, owner) in [
        (["f | user=etl | ratio=0.9", "r | scope=* | ratio=0.1 runtime"], "f:-"),
        (["f | user=etl | ratio=0.1", "r | scope=* | ratio=0.9 runtime"], "r:-"),
        (["f | scope=* | ratio=0.9", "r | user=etl class=read | ratio=0.1 runtime"], "f:-"),
        (["f | scope=* | ratio=0.9", "r | user=etl class=read | ratio=0.1 runtime override"], "r:-"),
        (["f | user=etl | hold", "r | scope=* | exempt runtime override"], "r:-"),
        // To override is for the run time only.
        (["f | user=etl | ratio=0.1 override", "r | scope=* | ratio=0.9 runtime"], "r:-"),
        // Where the file says nothing, an exemption need not override.
        (["f | user=other | hold", "r | user=etl | exempt runtime"], "r:-"),
        // Alike: the file's.
        (["f | scope=* | ratio=0.5", "r | user=etl | ratio=0.5 runtime"], "f:-"),
        // Limits count different units, so both count.
        (["f | user=etl | concurrency=9", "r | scope=* | concurrency=50 runtime"], "-:f,r"),
        (["f | user=etl | concurrency=9", "r | scope=* | concurrency=50 runtime override"], "-:r"),
        // It overrides what it sets, and nothing else.
        (["f | user=etl | concurrency=9 ratio=0.5", "r | scope=* | exempt runtime override"], "r:f"),
    ] {
        check(&rules, CLIENT, "", owner);
    }
}

#[test]
fn the_owner_of_the_run_time_is_named_before_it_is_compared() {
    // The exemption owns among the run time's rules, and does not override: so the file's stands.
    let rules = [
        "f | scope=* | ratio=0.5",
        "r1 | user=etl class=read | exempt runtime",
        "r2 | user=etl | ratio=0.9 runtime override",
    ];
    check(&rules, CLIENT, "", "f:-");
    check(&rules, CLIENT, "class=write", "r2:-");
}

#[test]
fn what_is_built_in_counts_with_both() {
    for (other, owner) in [
        ("r | scope=* | ratio=0.9 runtime", "hb:-"),
        ("f | scope=* class=read,write | ratio=0.9", "hb:-"),
        ("f | scope=* | ratio=0.9 priority=1001", "f:-"),
        ("r | scope=* | ratio=0.9 runtime priority=1001", "r:-"),
    ] {
        check(&["hb | user=etl | exempt built-in priority=1000", other], CLIENT, "", owner);
    }
}

#[test]
fn rules_that_are_off_never_match_and_those_that_warn_never_own() {
    for (rules, enforced, with_warned) in [
        (&["a | user=etl | hold off"][..], "-:-", None),
        (&["a | user=etl | hold warn"], "-:-", Some("a:-")),
        (&["a | user=etl | hold warn", "b | user=etl class=read | ratio=0.5"], "b:-", None),
        (&["a | user=etl class=read | ratio=0.1 warn", "b | user=etl | ratio=0.5"], "b:-", Some("a:-")),
        (&["a | user=etl class=read | concurrency=1 warn", "b | user=etl | concurrency=2"], "-:b", Some("-:a,b")),
        (&["a | user=etl class=read | exempt off", "b | user=etl | ratio=0.5"], "b:-", None),
        (&["a | user=other | hold warn", "b | user=etl | ratio=0.5"], "b:-", None),
    ] {
        let judged = judged(&set(rules), CLIENT, "", NOW);
        assert_eq!(judged, (enforced.to_owned(), with_warned.map(str::to_owned)), "{rules:?}");
    }
}

#[test]
fn a_rule_without_a_mode_has_the_default_one() {
    let set = set(&["a | user=etl | ratio=0.5", "b | user=etl class=read | ratio=0.1 enforce"]);
    let (client, asked) = (client(CLIENT), asked("class=write"));
    let candidates = set.candidates(&client);
    for (mode, owns, warned) in [(Mode::Enforce, true, false), (Mode::Warn, false, true), (Mode::Off, false, false)] {
        let judgement = set.judge(&candidates, &client, &asked, NOW, mode);
        assert_eq!((judgement.enforced.share.is_some(), judgement.with_warned.is_some()), (owns, warned), "{mode}");
        assert_eq!(judgement.matched, owns || warned);
    }
}

#[test]
fn connections_are_limited_on_what_a_login_shows() {
    let rules = set(&[
        "user | user=etl | connections=10",
        "schema | user=etl schema=shop | connections=5",
        "everybody | scope=* | connections=100 runtime",
        "class | user=etl class=write | connections=1",
        "tag | user=etl !tag.team=x | connections=2",
        "attr | user=etl attr.program_name=loader | connections=3 warn",
        "share | user=etl schema=shop | hold",
    ]);
    let ids = |limits: &MatchingLimits<'_>| limits.iter().map(|rule| rule.id.to_string()).collect::<Vec<_>>().join(",");
    for (line, schema, enforced, with_warned) in [
        ("user=etl", None, "user,everybody", None),
        ("user=etl", Some("shop"), "user,schema,everybody", None),
        ("user=etl", Some("stats"), "user,everybody", None),
        ("user=etl attr.program_name=loader", None, "user,everybody", Some("user,everybody,attr")),
        ("user=x", Some("shop"), "everybody", None),
    ] {
        let client = client(line);
        let candidates = rules.candidates(&client);
        let judgement = rules.judge_login(&candidates, &client, schema.map(str::as_bytes), NOW, Mode::Enforce);
        assert_eq!(ids(&judgement.enforced), enforced, "{line} {schema:?}");
        assert_eq!(judgement.with_warned.as_ref().map(ids).as_deref(), with_warned, "{line} {schema:?}");
    }
}

#[test]
fn no_matching_limit_is_lost() {
    let by_table: Vec<String> = (0..12).map(|n| format!("t{n:02} | table=t{n:02} | concurrency={}", 20 - n)).collect();
    let by_user: Vec<String> = (0..12).map(|n| format!("u{n:02} | user=etl | concurrency={}", 20 - n)).collect();
    let lines: Vec<&str> = by_table.iter().chain(&by_user).map(String::as_str).collect();
    let ids: Vec<&str> = lines.iter().map(|line| &line[..3]).collect();
    let (found, _) = judged(&set(&lines), CLIENT, &format!("table={}", ids[..12].join(",")), NOW);
    assert_eq!(found, format!("-:{}", ids.join(",")));
    let client = client(CLIENT);
    let judgement = set(&lines);
    let candidates = judgement.candidates(&client);
    let judgement = judgement.judge(&candidates, &client, &asked("table=t00"), NOW, Mode::Enforce);
    assert_eq!(judgement.enforced.owners().count(), 13);
}
