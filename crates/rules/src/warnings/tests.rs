use identity::{NamePart, Settings, Trust};

use crate::samples::{NOW, rule};
use crate::{Rule, RuleSet};

fn warnings(lines: &[&str], settings: &Settings) -> Vec<String> {
    let rules: Vec<Rule> = lines.iter().map(|line| rule(line)).collect();
    RuleSet::warnings(&rules, settings, NOW).iter().map(|warning| format!("{}: {warning}", warning.rule)).collect()
}

#[test]
fn rules_without_effect_are_told() {
    for (line, expected) in [
        ("a | scope=etl | hold", None),
        ("a | scope=*.etl.* | hold", Some("scope `*.etl.*` can match nothing")),
        ("a | scope=ok,a::b | hold", Some("scope `a::b` can match nothing")),
        ("a | scope=x !scope=*-y | hold", Some("scope `*-y` can match nothing")),
        ("a | address=::ffff:10.0.0.0/104 | hold", Some("address `::ffff:10.0.0.0/104` can match nothing")),
        ("a | address=::/0 | hold", None),
        ("a | user=a !user=b,a | hold", Some("whatever fits user is left out by `not`")),
        ("a | user=a,c !user=b,a | hold", None),
        ("a | address=10.1.0.0/16 !address=10.0.0.0/8 | hold", Some("whatever fits address is left out")),
        ("a | address=10.0.0.0/8 !address=10.1.0.0/16 | hold", None),
        ("a | scope=job-1 !scope=job-* | hold", Some("whatever fits scope is left out")),
        ("a | table=s.t !table=t | hold", Some("whatever fits table is left out")),
        ("a | class=control | hold", Some("statements of the class control always pass")),
        ("a | class=control,read | hold", None),
        ("a | user=a class=write,ddl | hold", None),
        ("a | user=a class==write | hold", Some("a client escapes `class: { exactly: … }`")),
        ("a | user=a class==write | exempt", None),
        ("a | user=a class==write,=call,=unparsed | hold", None),
        ("a | user=a class=read | connections=4", Some("when class is not known yet")),
        ("a | user=a !tag.a=b | connections=4", Some("when tag.a is not known yet")),
        ("a | user=a schema=s attr.a=b | hold", Some("a client escapes it by not saying attr.a")),
        ("a | user=a | hold expires=0", Some("it ended at 1970-01-01T00:16:40Z")),
        ("a | user=a | hold expires=1", None),
        ("a | scope=*.etl.* | hold off", None),
    ] {
        let known = Settings { name: vec![NamePart::User], ..Settings::default() };
        let warned = warnings(&[line], &known);
        match expected {
            None => assert!(warned.is_empty(), "{line}: {warned:?}"),
            Some(part) => assert!(matches!(&warned[..], [one] if one.contains(part)), "{line}: {warned:?}"),
        }
    }
}

#[test]
fn rules_on_claims_are_told_where_trust_is_missing() {
    let default = Settings::default();
    let trusting = Settings {
        trust_claims_of: vec![Trust::User(b"app"[..].into()), Trust::Network("10.2.0.0/16".parse().unwrap())],
        ..Settings::default()
    };
    let by_user = Settings { trust_claims_of: vec![Trust::User(b"app"[..].into())], ..Settings::default() };
    let known = Settings { name: vec![NamePart::User, NamePart::Address], ..Settings::default() };
    let claimed = Settings { name: vec![NamePart::Client], ..Settings::default() };
    for (line, settings, expected) in [
        ("a | tag.app=etl | ratio=0.9", &default, Some("not saying tag.app")),
        ("a | tool=gh-ost | hold", &default, Some("not saying tool")),
        ("a | query_attr.a=b | concurrency=4", &default, Some("not saying query_attr.a")),
        ("a | user=x tag.app=etl | ratio=0.9", &trusting, Some("not saying tag.app")),
        ("a | user=app tag.app=etl | ratio=0.9", &trusting, None),
        ("a | user=app,x tag.app=etl | ratio=0.9", &trusting, Some("not saying tag.app")),
        ("a | address=10.2.3.0/24 tag.app=etl | ratio=0.9", &trusting, None),
        ("a | address=10.0.0.0/8 tag.app=etl | ratio=0.9", &trusting, Some("not saying tag.app")),
        ("a | user=x !tag.app=etl | ratio=0.9", &default, None),
        ("a | scope=etl | ratio=0.9", &default, Some("unless a user is called `etl`, a client escapes it")),
        ("a | scope=etl tag.app=x | ratio=0.9", &default, Some("not saying tag.app")),
        ("a | scope=etl user=app | ratio=0.9", &trusting, None),
        ("a | scope=etl | ratio=0.9", &known, None),
        ("a | scope=*,etl | ratio=0.9", &default, None),
        ("a | scope=etl | ratio=0.9", &claimed, Some("not saying scope")),
        ("a | scope=* | ratio=0.9", &claimed, None),
        ("a | scope=unattributed | ratio=0.9", &default, None),
        ("a | scope=unattributed | ratio=0.9", &claimed, None),
        ("a | scope=unattributed | exempt", &claimed, None),
        ("a | scope=unattributed,etl | ratio=0.9", &default, Some("unless a user is called `etl`")),
        ("a | scope=unattributed,etl | ratio=0.9", &claimed, Some("not saying scope")),
        ("a | tag.app=etl | exempt", &default, Some("it favours nobody: tag.app")),
        ("a | tag.app=etl | ratio=0", &default, Some("it favours nobody: tag.app")),
        ("a | tag.app=etl | threshold=lag:2", &default, Some("not saying tag.app")),
        ("a | tag.app=etl | weight=0.5", &default, Some("not saying tag.app")),
        ("a | tag.app=etl | weight=2", &default, Some("it favours nobody: tag.app")),
        ("a | tag.app=etl | skip=lag", &default, Some("it favours nobody: tag.app")),
        ("a | tag.app=etl | skip=lag", &trusting, None),
        ("a | tag.app=etl | exempt", &trusting, None),
        ("a | user=x tag.app=etl | exempt", &trusting, None),
        ("a | user=x tag.app=etl | exempt", &by_user, Some("it favours nobody: tag.app")),
        ("a | user=app,x tag.app=etl | exempt", &by_user, None),
        ("a | scope=etl | exempt", &default, Some("unless a user is called `etl`, it favours nobody")),
        ("a | scope=etl | exempt", &trusting, None),
        ("a | scope=etl | exempt", &known, None),
        ("a | scope=etl | exempt", &claimed, Some("it favours nobody: scope")),
    ] {
        let warned = warnings(&[line], settings);
        match expected {
            None => assert!(warned.is_empty(), "{line}: {warned:?}"),
            Some(part) => assert!(matches!(&warned[..], [one] if one.contains(part)), "{line}: {warned:?}"),
        }
    }
}

#[test]
fn a_rule_that_another_always_shields_is_told() {
    for (wide, narrow, shields) in [
        ("user=a | hold", "user=a | ratio=0.5", true),
        ("user=a | ratio=0.5", "user=a | hold", false),
        ("user=a | hold", "user=a class=read | ratio=0.5", false),
        ("user=a | hold priority=1", "user=a class=read | ratio=0.5", true),
        ("user=a,b | hold", "user=a | ratio=0.5", true),
        ("user=b | hold", "user=a | ratio=0.5", false),
        ("scope=* | hold", "scope=etl | ratio=0.5", false),
        ("scope=* | hold priority=1", "scope=etl | ratio=0.5", true),
        ("scope=* | hold priority=1", "user=a | ratio=0.5", true),
        ("scope=* user=a | hold", "user=a | ratio=0.5", true),
        ("address=10.0.0.0/8 | hold", "address=10.2.0.0/16 | ratio=0.5", false),
        ("address=10.0.0.0/8 | hold priority=1", "address=10.2.0.0/16 | ratio=0.5", true),
        ("scope=job-* | hold priority=1", "scope=job-1 | ratio=0.5", true),
        ("scope=job-1 | hold priority=1", "scope=job-* | ratio=0.5", false),
        ("user=a | hold runtime", "user=a | ratio=0.5", false),
        ("user=a | hold runtime", "user=a | ratio=0.5 runtime", true),
        ("user=a | hold expires=1000", "user=a | ratio=0.5", false),
        ("user=a | hold expires=1000", "user=a | ratio=0.5 expires=1000", true),
        ("user=a | hold expires=0", "user=a | ratio=0.5", false),
        ("user=a | hold warn", "user=a | ratio=0.5", false),
        ("user=a | hold enforce", "user=a | ratio=0.5 warn", true),
        ("user=a | hold off", "user=a | ratio=0.5", false),
        ("user=a | concurrency=4", "user=a | ratio=0.5", false),
        // Each limit counts.
        ("user=a | concurrency=4", "user=a | concurrency=5", false),
        ("user=a | concurrency=4 priority=1", "user=a class=read | concurrency=4", false),
        ("user=a | connections=4", "user=a | connections=5", false),
        ("user=a | threshold=lag:4", "user=a | threshold=lag:5", true),
        ("user=a | threshold=lag:5", "user=a | threshold=lag:4", false),
        ("user=a | threshold=lag:4", "user=a | threshold=threads:5", false),
        ("user=a | weight=1", "user=a | weight=2", true),
        ("user=a | skip=lag priority=1", "user=a | skip=threads", true),
        ("user=a !class=ddl | hold", "user=a class=read | ratio=0.5", false),
        ("user=a !class=ddl | hold", "user=a !class=ddl,read | ratio=0.5", true),
        ("table=a | hold priority=1", "table=a user=b | ratio=0.5", true),
        ("table=a,b | hold priority=1", "table=a | ratio=0.5", false),
        ("user=a | ratio=0.5", "user=a | ratio=0.5", true),
    ] {
        let lines = [format!("w | {wide}"), format!("x | {narrow}")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let warned = warnings(&lines, &Settings::default());
        let told = warned.iter().any(|warning| warning.starts_with("x: ") && warning.contains("rule w matches all"));
        assert_eq!(told, shields, "{lines:?}: {warned:?}");
    }
}

#[test]
fn what_depends_on_whom_the_database_knows_is_not_certain() {
    let rules = ["a | scope=etl | hold", "b | scope=etl | exempt priority=1", "c | tag.a=b | hold"].map(rule);
    let certain: Vec<bool> =
        RuleSet::warnings(&rules, &Settings::default(), NOW).iter().map(crate::Warning::is_certain).collect();
    assert_eq!(certain, [false, false, true, true]);
}

#[test]
fn many_rules_are_checked_in_a_moment() {
    let rules: Vec<Rule> = (0..50_000).map(|n| rule(&format!("r{n} | user=app tag.tenant=t{n} | exempt"))).collect();
    let trusting = Settings { trust_claims_of: vec![Trust::User(b"app"[..].into())], ..Settings::default() };
    assert_eq!(RuleSet::warnings(&rules, &trusting, NOW), []);
}
