//! Expiry and hours count at the time of the decision.

use jiff::tz::TimeZone;

use super::judged;
use crate::samples::{NOW, rule, set};
use crate::{Active, Days, Rule, RuleSet, Timestamp};

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

#[test]
fn when_a_rule_ends_the_next_one_owns() {
    let set = set(&[
        "first | user=a class=read | hold expires=1000",
        "second | user=a | ratio=0.5 expires=2000 concurrency=4",
        "standing | scope=* | ratio=0.1",
    ]);
    for (after, owner, next) in [
        (0, "first:second", Some(1000)),
        (999, "first:second", Some(1000)),
        (1000, "second:second", Some(2000)),
        (1999, "second:second", Some(2000)),
        (2000, "standing:-", None),
        (i64::MAX / 2, "standing:-", None),
    ] {
        let now = Timestamp(NOW.0 + after);
        assert_eq!(judged(&set, "user=a", "", now).0, owner, "{after}");
        assert_eq!(set.next_change(now), next.map(|next| Timestamp(NOW.0 + next)), "{after}");
    }
}

#[test]
fn a_rule_counts_in_its_hours_only() {
    let rush =
        Active { days: Days(0b001_1111), from: 8 * 60, to: 10 * 60, tz: TimeZone::get("Europe/Berlin").unwrap() };
    let rules = vec![
        Rule { active: Some(rush), expires: Some(at("2026-04-22T07:00:00Z")), ..rule("rush | scope=* | ratio=0.9") },
        rule("standing | scope=* | ratio=0.1"),
    ];
    let set = RuleSet::new(rules, &|_| None);
    // Asked again in another order: what is remembered must not go stale.
    for _ in 0..2 {
        for (now, owner, next) in [
            // A Friday, in summer time.
            ("2026-04-17T05:59:59Z", "standing:-", "2026-04-17T06:00:00Z"),
            ("2026-04-17T06:00:00Z", "rush:-", "2026-04-17T08:00:00Z"),
            ("2026-04-17T07:59:59Z", "rush:-", "2026-04-17T08:00:00Z"),
            ("2026-04-17T08:00:00Z", "standing:-", "2026-04-20T06:00:00Z"),
            ("2026-04-18T07:00:00Z", "standing:-", "2026-04-20T06:00:00Z"),
            ("2026-04-20T07:00:00Z", "rush:-", "2026-04-20T08:00:00Z"),
            // It ends within its hours.
            ("2026-04-22T06:59:59Z", "rush:-", "2026-04-22T07:00:00Z"),
            ("2026-04-22T07:00:00Z", "standing:-", ""),
            // In winter.
            ("2026-01-05T06:30:00Z", "standing:-", "2026-01-05T07:00:00Z"),
            ("2026-01-05T07:00:00Z", "rush:-", "2026-01-05T09:00:00Z"),
        ] {
            assert_eq!(judged(&set, "user=a", "", at(now)).0, owner, "{now}");
            assert_eq!(set.next_change(at(now)), Timestamp::parse(next), "{now}");
        }
    }
}
