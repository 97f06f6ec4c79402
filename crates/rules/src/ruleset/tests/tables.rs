//! Rules on tables: they can favour a statement only as a whole.

use super::check;
use crate::Mode;
use crate::samples::{NOW, asked, client, set};

#[test]
fn a_statement_on_several_tables_gets_the_strictest_of_them() {
    let rules = [
        "heartbeat | table=heartbeat class=write | exempt priority=1000",
        "big | table=big | ratio=0.9",
        "big-of-app | table=big user=app | ratio=0.2 concurrency=3",
        "app | user=app | ratio=0.1 concurrency=8",
    ];
    for (user, asked, expected) in [
        ("x", "class=write table=heartbeat", "heartbeat:-"),
        ("x", "class=read table=heartbeat", "-:-"),
        ("x", "class=write table=heartbeat,small", "-:-"),
        // A table that is favoured shields no other.
        ("x", "class=write table=heartbeat,big", "big:-"),
        ("x", "class=write table=big,heartbeat,small", "big:-"),
        ("x", "table=big", "big:-"),
        ("x", "table=big,small", "big:-"),
        // What a rule says of a table, it says with a join too.
        ("app", "table=big", "big-of-app:app,big-of-app"),
        ("app", "table=big,small", "big-of-app:app,big-of-app"),
        ("app", "class=write table=heartbeat", "heartbeat:app"),
        ("app", "class=write table=heartbeat,small", "app:app"),
        ("app", "table=small", "app:app"),
        ("app", "", "app:app"),
    ] {
        check(&rules, &format!("user={user}"), asked, expected);
    }
}

#[test]
fn all_tables_must_be_of_one_rule_for_it_to_favour() {
    let both = ["a | table=a,b | exempt", "user | user=x | ratio=0.5"];
    check(&both, "user=x", "table=a,b", "user:-");
    let both = ["a | table=a,b class=read | exempt", "user | user=x | ratio=0.5"];
    check(&both, "user=x", "table=a,b", "a:-");
    check(&both, "user=x", "table=a", "a:-");
    check(&both, "user=x", "table=a,b,c", "user:-");
    let apart = ["a | table=a class=read | exempt", "b | table=b class=read | exempt", "user | user=x | ratio=0.5"];
    check(&apart, "user=x", "table=a,b", "user:-");
}

#[test]
fn unknown_tables_can_only_be_stricter() {
    let rules = [
        "favour | table=small class=read | exempt",
        "strict | table=big class=read | ratio=0.9",
        "limit | table=mid user=x | concurrency=2",
        "not | user=x !table=big | ratio=0.1",
        "user | user=x | ratio=0.05",
    ];
    for (asked, expected) in [
        ("table=?", "strict:limit"),
        ("table=?,small", "not:-"),
        ("table=?,mid,small", "not:limit"),
        ("table=?,big", "strict:-"),
        ("table=big", "strict:-"),
        ("table=small,other", "not:-"),
    ] {
        check(&rules, "user=x", asked, expected);
    }
    check(&["favour | table=small | exempt", "user | user=x | ratio=0.5"], "user=x", "table=?", "user:-");
    // A favour that leaves a table out must know that it is not touched.
    let favour = ["favour | user=x !table=big class=read | exempt", "user | user=x | ratio=0.5"];
    for (asked, expected) in [
        ("table=small", "favour:-"),
        ("table=small,big", "user:-"),
        ("table=?,small", "favour:-"),
        ("table=?,small,big", "user:-"),
        ("table=?", "user:-"),
    ] {
        check(&favour, "user=x", asked, expected);
    }
}

#[test]
fn too_many_tables_are_like_unknown_ones() {
    let tables: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    let asked = format!("table={}", tables.join(","));
    check(&["strict | table=elsewhere | hold", "favour | !table=elsewhere | exempt"], "user=x", &asked, "strict:-");
}

#[test]
fn a_table_without_a_schema_is_of_the_sessions() {
    for (value, asked, expected) in [
        ("orders", "table=orders", "a:-"),
        ("orders", "table=stats.orders", "a:-"),
        ("shop.orders", "table=orders schema=shop", "a:-"),
        ("shop.orders", "table=orders schema=Shop", "a:-"),
        ("shop.orders", "table=orders schema=stats", "-:-"),
        ("shop.orders", "table=stats.orders schema=shop", "-:-"),
        ("shop.orders", "table=shop.orders schema=stats", "a:-"),
        // Nobody knows the schema: it may be that one.
        ("shop.orders", "table=orders", "a:-"),
    ] {
        check(&[&format!("a | table={value} | hold")], "user=x", asked, expected);
    }
    // It may also be another.
    check(&["a | table=shop.orders | exempt"], "user=x", "table=orders", "-:-");
}

#[test]
fn tables_are_parsed_only_where_they_could_change_something() {
    let by_user = &["t | user=x table=a class=write | ratio=0.5", "p | user=p | hold priority=1"][..];
    let shielded = &["t | user=p table=a | ratio=0.5", "p | user=p | hold priority=1"][..];
    let lines: Vec<String> = (0..40).map(|n| format!("r{n} | table=t{n} class=write | hold")).collect();
    let by_table = &lines.iter().map(String::as_str).collect::<Vec<_>>()[..];
    let favour = &["t | table=a class=write | exempt", "r | user=r | ratio=0.5"][..];
    let favours = &["t | table=a | exempt", "u | table=b | exempt", "r | user=r | ratio=0.5"][..];
    let warned = &["t | user=p table=a | ratio=0.5 warn", "p | user=p | hold"][..];
    for (rules, user, text, parses) in [
        (by_user, "x", "class=write", 1),
        (by_user, "x", "class=read", 0),
        (by_user, "p", "class=write", 0),
        (shielded, "p", "", 0),
        (by_table, "x", "class=write", 1),
        (by_table, "x", "class=read", 0),
        (favour, "x", "class=write", 1),
        (favour, "x", "class=write free", 0),
        (favour, "r", "class=write free", 1),
        (favours, "x", "free", 0),
        (favours, "x", "", 1),
        (favours, "r", "free", 1),
        (warned, "p", "", 1),
    ] {
        let (set, client, asked) = (set(rules), client(&format!("user={user}")), asked(text));
        set.judge(&set.candidates(&client), &client, &asked, NOW, Mode::Enforce);
        assert_eq!(asked.parses.get(), parses, "{rules:?} {user} {text}");
    }
}

#[test]
fn doubt_matches_restricting_rules_that_take_it() {
    let rules = [
        "takes | table=secret | ratio=0.9 unknown=match",
        "ignores | table=other | ratio=0.95",
        "favours | table=small class=read | exempt unknown=match",
        "user | user=x | ratio=0.5",
    ];
    for (user, asked, expected) in [
        ("x", "table=v", "user:-"),
        ("x", "table=v doubt", "takes:-"),
        ("y", "table=v doubt", "takes:-"),
        ("y", "doubt", "takes:-"),
        ("y", "table=small doubt", "takes:-"),
        ("y", "table=small", "favours:-"),
        ("x", "table=secret", "takes:-"),
    ] {
        check(&rules, &format!("user={user}"), asked, expected);
    }
    // A name that may be that of a view favours nobody, unless the operator says so.
    for (favour, expected) in [("exempt", "user:-"), ("exempt unknown=match", "favours:-")] {
        let favour = format!("favours | table=small class=read | {favour}");
        check(&[&favour, "user | user=x | ratio=0.5"], "user=x", "table=small doubt", expected);
    }
}
