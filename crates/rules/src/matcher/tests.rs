use super::Matcher;
use crate::samples::{asked, client, matching_of};

fn matcher(text: &str) -> Matcher {
    Matcher::new(&matching_of(text), &|_| None)
}

#[test]
fn whom_a_gate_concerns() {
    for (matching, who, what, concerns) in [
        ("user=a,b", "user=a", "", true),
        ("user=a,b", "user=c", "", false),
        ("user=a !address=10.2.0.0/16", "user=a address=10.2.3.4", "", false),
        ("user=a !address=10.2.0.0/16", "user=a address=10.3.3.4", "", true),
        ("scope=*:etl:*", "name=job-1:etl:warehouse", "", true),
        ("tag.team=data class=write", "tag.team=data", "class=write", true),
        ("tag.team=data class=write", "tag.team=data", "class=read", false),
        ("schema=shop", "user=a", "schema=shop", true),
        ("schema=shop", "user=a", "", false),
        ("!shape=no_where", "user=a", "shape=no_where", false),
        ("fingerprint=7", "user=a", "fingerprint=7", true),
        // One that nobody has learnt is no value.
        ("fingerprint=unheard-of", "user=a", "", false),
        // One table is enough, and what is not known concerns.
        ("table=t", "user=a", "table=t,u", true),
        ("table=t", "user=a", "table=u", false),
        ("table=t", "user=a", "table=?", true),
        ("table=t", "user=a", "table=?,t,u", true),
        ("table=t", "user=a", "table=?,u", false),
        ("table=s.t", "user=a", "table=t", true),
        ("table=s.t", "user=a", "table=t schema=other", false),
        // To be left out it must surely touch one.
        ("!table=t", "user=a", "table=t,u", false),
        ("!table=t", "user=a", "table=u", true),
        ("!table=t", "user=a", "table=?", true),
        ("!table=t", "user=a", "table=?,t", true),
        ("!table=s.t", "user=a", "table=t", true),
    ] {
        assert_eq!(matcher(matching).concerns(&client(who), &asked(what)), concerns, "{matching} | {who} | {what}");
    }
}

#[test]
fn tables_are_looked_at_only_for_a_match_on_them() {
    let reads = asked("table=t");
    assert!(matcher("user=a").concerns(&client("user=a"), &reads));
    assert!(!matcher("user=a table=t").concerns(&client("user=b"), &reads));
    assert_eq!((reads.parses.get(), matcher("user=a").needs_tables()), (0, false));
    assert!(matcher("!table=t").needs_tables());
}

#[test]
fn a_login_is_concerned_unless_it_is_known_not_to_be() {
    for (matching, who, schema, concerns) in [
        ("user=a", "user=a", None, true),
        ("user=a", "user=b", None, false),
        ("schema=shop", "user=a", Some("shop"), true),
        ("schema=shop", "user=a", None, false),
        ("user=a !schema=shop", "user=a", Some("shop"), false),
        ("user=a !schema=shop", "user=a", None, true),
        // What only a statement shows.
        ("user=a class=write", "user=a", None, true),
        ("user=a !class=write", "user=a", None, true),
        ("user=a table=t", "user=a", None, true),
        ("user=b class=write", "user=a", None, false),
    ] {
        let concerned = matcher(matching).concerns_login(&client(who), schema.map(str::as_bytes));
        assert_eq!(concerned, concerns, "{matching} | {who} | {schema:?}");
    }
}
