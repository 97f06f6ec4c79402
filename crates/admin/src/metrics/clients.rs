//! What clients asked and got: all of them together, and the busiest by name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use admission::Gatekeeper;
use admission::stats::Counted;
use identity::Name;

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
    let unattributed = clients.iter().filter(|(client, _)| client.name.as_str() == Name::UNATTRIBUTED);
    text.about(
        Kind::Counter,
        "statements_unattributed_total",
        "Statements of clients of whom nothing is known that `identity.name` makes a name of.",
    )
    .put(&[], forgotten.unattributed + unattributed.map(|(_, counted)| counted.seen).sum::<u64>());
    doubts(text, keeper);
    identities(text, keeper);
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

fn doubts(text: &mut Text, keeper: &Gatekeeper) {
    let help = "Statements of which some fact is not certain: restricting rules then match what may be, and favouring ones \
                do not.";
    text.about(Kind::Counter, "statements_doubtful_total", help).put(&[], keeper.doubtful_statements());
    let help = "Doubts about statements, by the reason. A statement may have several.";
    let mut metric = text.about(Kind::Counter, "statement_doubts_total", help);
    for (reason, count) in keeper.doubts() {
        metric.put(&[("reason", reason)], count);
    }
}

/// What became of who clients say they are.
fn identities(text: &mut Text, keeper: &Gatekeeper) {
    let counts = keeper.client_counts();
    text.about(Kind::Gauge, "identities", "Clients that are remembered, by user and name.").put(&[], counts.remembered);
    for (name, help, count) in [
        (
            "identity_conflicts_total",
            "What clients said of themselves that does not count: two values for one key, several tools, or too much. What a \
             session says again is not counted again.",
            keeper.conflicts(),
        ),
        (
            "identities_overflowed_total",
            "How often a client had no room of its own among those remembered, and was counted as `__overflow__`.",
            counts.overflowed,
        ),
        (
            "identities_left_total",
            "Clients that were forgotten to make room for others; what they asked stays in the sums.",
            counts.left,
        ),
    ] {
        text.about(Kind::Counter, name, help).put(&[], count);
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
