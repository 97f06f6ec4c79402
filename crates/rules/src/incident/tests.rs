use super::*;
use crate::RuleSet;
use crate::samples::{NOW, rule};

#[test]
fn opening_puts_the_rules_of_a_playbook_in_force() {
    let templates = [rule("yield | scope=etl | ratio=0.9"), rule("stop | scope=gh-ost | hold")];
    let templates = templates.map(|rule| Rule { reason: Some("prepared".to_owned()), ..rule });
    let lifetimes = [Some(Duration::from_secs(60)), None];
    let opening = Opening { incident: "INC-42", playbook: "lag", reason: None, opened_by: Some("oncall") };
    let rules = open(templates.iter().zip(lifetimes), &opening, NOW);
    let shown: Vec<_> = rules
        .iter()
        .map(|rule| (&*rule.id, rule.origin, rule.expires.map(|expires| expires.since(NOW).as_secs())))
        .collect();
    let expected = [("yield-INC-42", Origin::Runtime, Some(60)), ("stop-INC-42", Origin::Runtime, Some(3600))];
    assert_eq!(shown, expected);
    for (rule, template) in rules.iter().zip(&templates) {
        assert_eq!((&rule.matching, &rule.effect), (&template.matching, &template.effect));
        assert_eq!((rule.created, rule.created_by.as_deref()), (Some(NOW), Some("oncall")));
        assert_eq!((rule.incident.as_deref(), rule.playbook.as_deref()), (Some("INC-42"), Some("lag")));
        assert_eq!(rule.reason.as_deref(), Some("prepared"));
    }
    let opening = Opening { reason: Some("lag is 40 s"), ..opening };
    let reasons: Vec<_> =
        open(templates.iter().zip(lifetimes), &opening, NOW).into_iter().map(|it| it.reason).collect();
    assert_eq!(reasons, [Some("lag is 40 s".to_owned()), Some("lag is 40 s".to_owned())]);
}

#[test]
fn closing_ends_what_the_playbook_put_in_force() {
    let rules = [
        "idle | scope=a | hold runtime incident=INC-42 playbook=lag expires=500000",
        "busy | scope=b | hold runtime incident=INC-42 playbook=lag expires=500000",
        "long-ago | scope=b | hold runtime incident=INC-42 playbook=lag expires=500000",
        "ended | scope=c | hold runtime incident=INC-42 playbook=lag expires=-1",
        "by-hand | scope=d | hold runtime incident=INC-42 expires=500000",
        "standing | scope=d | hold incident=INC-42",
        "other | scope=e | hold runtime incident=INC-43 playbook=lag expires=500000",
        "none | scope=e | hold runtime expires=500000",
    ];
    let set = RuleSet::new(rules.map(rule).into(), &|_| None);
    for (id, ago) in [("busy", 59), ("long-ago", 61), ("by-hand", 1), ("ended", 1)] {
        let rule = set.rules().iter().find(|rule| &*rule.id == id).unwrap();
        rule.hits().count(NOW.minus(Duration::from_secs(ago)));
    }
    let closing = close(set.rules(), "INC-42", NOW);
    let ids = |ids: &[&str]| ids.iter().map(|id| RuleId::from(*id)).collect::<Vec<_>>();
    assert_eq!(closing.ends, ids(&["idle", "busy", "long-ago"]));
    assert_eq!(closing.at_work, ids(&["busy"]));
    assert_eq!(closing.stay, ids(&["by-hand", "standing"]));
    assert_eq!(close(set.rules(), "INC-4", NOW), Closing::default());
}
