//! What clients asked and got: all of them together, and the busiest by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use admission::Gatekeeper;
use admission::stats::Counted;

use super::text::{Kind, Text};

/// Names come from clients: only so many become labels.
const MOST: usize = 50;

/// Of one client, or of all: the name of the metric, what it is, and its value.
type Figure = (&'static str, &'static str, fn(&Counted) -> f64);

const FIGURES: [Figure; 6] = [
    ("seen", "Statements that clients asked.", |counted| float(counted.seen)),
    ("passed", "Statements that went on, at once or after a hold.", |counted| float(counted.passed)),
    ("held", "Statements that had to wait, however that ended.", |counted| float(counted.held)),
    ("rejected", "Statements that were refused.", |counted| float(counted.rejected)),
    ("warned", "Statements that a rule or gate in `warn` would have held or refused.", |counted| float(counted.warned)),
    ("hold_seconds", "Time for which statements were held.", |counted| counted.hold_time.as_secs_f64()),
];

/// Counters are doubles in Prometheus.
fn float(count: u64) -> f64 {
    count as f64
}

pub(super) fn put(text: &mut Text, keeper: &Gatekeeper) {
    let (mut clients, forgotten) = keeper.clients_and_forgotten();
    let all = || clients.iter().map(|(_, counted)| counted).chain([&forgotten.counted]);
    for (name, help, value) in FIGURES {
        let all: f64 = all().map(value).sum();
        text.about(Kind::Counter, &format!("statements_{name}_total"), help).put(&[], all);
    }
    decisions(text, all());
    clients.sort_by_key(|(_, counted)| Reverse(counted.seen));
    clients.truncate(MOST);
    for (name, help, value) in FIGURES {
        let help = format!("{help} By client, the {MOST} that asked most.");
        let mut metric = text.about(Kind::Counter, &format!("client_{name}_total"), &help);
        for (client, counted) in &clients {
            let user = String::from_utf8_lossy(client.user.as_deref().unwrap_or_default());
            metric.put(&[("client", client.name.as_str()), ("user", &user)], value(counted));
        }
    }
}

/// By what it was: rules and gates are named by operators, so that they are few.
fn decisions<'c>(text: &mut Text, clients: impl Iterator<Item = &'c Counted>) {
    let mut sums = BTreeMap::new();
    for (rule, reason, effect, count) in clients.flat_map(|counted| &counted.by_rule) {
        *sums.entry((&**rule, reason.as_str(), effect.as_str())).or_insert(0) += count;
    }
    let help = "What rules and gates did to statements; `rule` is a gate's name where `reason` is `gate`.";
    let mut metric = text.about(Kind::Counter, "decisions_total", help);
    for ((rule, reason, effect), count) in sums {
        metric.put(&[("rule", rule), ("reason", reason), ("effect", effect)], count);
    }
}
