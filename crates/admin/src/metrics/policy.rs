//! What is in force.

use ::rules::Origin;
use admission::Gatekeeper;

use super::text::{Kind, Text};
use crate::PolicyFile;

pub(super) fn put(text: &mut Text, keeper: &Gatekeeper, file: &PolicyFile) {
    let policy = keeper.policy();
    let now = keeper.now();
    text.about(Kind::Gauge, "policy_generation", "Counts up with every change of what is in force.")
        .put(&[], policy.generation);
    text.about(
        Kind::Gauge,
        "policy_refused",
        "1 while proxy.yaml, as it is on the disk, is refused: an older one holds.",
    )
    .put(&[], u8::from(file.is_refused()));

    let live = || policy.rules.rules().iter().filter(|rule| rule.expires.is_none_or(|expires| expires > now));
    let mut rules = text.about(Kind::Gauge, "rules", "Rules that have not ended, by where they stand.");
    for origin in [Origin::BuiltIn, Origin::File, Origin::Runtime] {
        rules.put(&[("origin", origin.as_str())], live().filter(|rule| rule.origin == origin).count());
    }
    let mut left = text.about(Kind::Gauge, "rule_seconds_left", "Until a rule ends, for rules that do.");
    for rule in live() {
        if let Some(expires) = rule.expires {
            left.put(&[("rule", &*rule.id)], expires.since(now).as_secs());
        }
    }
    text.about(Kind::Gauge, "units_waiting", "Statements and transactions that are held now.")
        .put(&[], keeper.waiting());
}
