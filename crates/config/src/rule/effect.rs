//! `do`: what a rule does.

use std::collections::{BTreeMap, BTreeSet};

use rules::{Do, GateName, Limits, Match, Share};

use super::raw::{RawDo, Thresholds};
use super::resolve::Resolver;
use crate::closest::closest;
use crate::gate::KnownGate;
use crate::tree::{At, KeyPath};
use crate::value::{Id, List};

impl Resolver<'_> {
    pub(super) fn effect(&mut self, raw: Option<RawDo>) -> Option<Do> {
        let place = self.base.key("do");
        let raw = raw.unwrap_or_default();
        let limit = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let limits = Limits {
            max_concurrency: raw.max_concurrency.map(|count| limit(count.0)),
            max_connections: raw.max_connections.map(|count| limit(count.0)),
        };
        let shares = [
            ("exempt", raw.exempt.map(|_| Share::Exempt)),
            ("hold", raw.hold.map(|_| Share::Hold)),
            ("rejection_ratio", raw.rejection_ratio.map(|ratio| Share::Ratio(ratio.0))),
        ];
        let mut written = shares.into_iter().filter_map(|(key, share)| share.map(|share| (key, share)));
        let share = written.next();
        if let (Some((first, _)), Some((second, _))) = (share, written.next()) {
            let what = format!("`{first}` and `{second}` contradict each other");
            self.refuse_at(place.key(second), At::Key, what, "keep one of them; they could be two rules");
            return None;
        }
        let at_gates = raw.thresholds.is_some() || raw.skip_gates.is_some() || raw.weight.is_some();
        if share.is_none() && limits == Limits::default() && !at_gates {
            let remedy = "add `do:` with `rejection_ratio`, `exempt`, `hold`, `max_concurrency`, `max_connections`, \
                          `thresholds`, `skip_gates` or `weight`";
            self.refuse_at(place, At::Key, "the rule does nothing", remedy);
            return None;
        }
        let effect = Do {
            share: share.map(|(_, share)| share),
            limits,
            weight: raw.weight.map(|weight| weight.0),
            skip_gates: raw.skip_gates.map(|gates| self.skip_gates(gates, &place.key("skip_gates"))),
            thresholds: raw
                .thresholds
                .map(|thresholds| self.thresholds(thresholds, &place.key("thresholds")))
                .unwrap_or_default(),
        };
        if effect.share == Some(Share::Exempt) && effect.skip_gates.is_some() {
            let what = "what is exempt passes all gates";
            self.refuse_at(place.key("skip_gates"), At::Key, what, "take it out, or take `exempt` out");
        }
        Some(effect)
    }

    fn thresholds(&mut self, written: Thresholds, place: &KeyPath) -> BTreeMap<GateName, f64> {
        if written.0.is_empty() {
            let remedy = "write a gate and its threshold, such as `{ replication_lag: 2s }`, or take the key out";
            self.refuse_at(place.clone(), At::Value, "there is no gate in it", remedy);
        }
        let mut thresholds = BTreeMap::new();
        for (gate, measure) in written.0 {
            let place = place.key(&gate);
            let value = match self.gates {
                None => measure.stored(),
                Some(gates) => match gates.iter().find(|known| known.name == gate) {
                    Some(KnownGate { unit: Some(unit), .. }) => measure.of(*unit),
                    // What is wrong with the gate has been said.
                    Some(KnownGate { unit: None, .. }) => continue,
                    None => {
                        self.refuse_gate(&gate, place, At::Key);
                        continue;
                    }
                },
            };
            match value {
                Ok(value) => drop(thresholds.insert(gate.into(), value)),
                Err(complaint) => self.refuse_at(place, At::Value, complaint.what, complaint.remedy),
            }
        }
        thresholds
    }

    fn skip_gates(&mut self, written: List<Id>, place: &KeyPath) -> BTreeSet<GateName> {
        let mut gates = BTreeSet::new();
        for (index, Id(gate)) in written.0.into_iter().enumerate() {
            let known = self.gates.is_none_or(|gates| gates.iter().any(|known| known.name == gate));
            if !known {
                self.refuse_gate(&gate, place.item(index), At::Value);
            }
            gates.insert(gate.into());
        }
        gates
    }

    fn refuse_gate(&mut self, gate: &str, place: KeyPath, at: At) {
        let names: Vec<&str> = self.gates.unwrap_or_default().iter().map(|known| known.name.as_str()).collect();
        let remedy = match (closest(gate, &names), names.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "there are no gates: add it under `gates:` in proxy.yaml, or take this out".to_owned(),
            (None, names) => format!("the gates are {}", names.join(", ")),
        };
        self.refuse_at(place, at, format!("there is no gate called `{gate}`"), remedy);
    }

    /// At login there is no statement yet.
    pub(super) fn refuse_unknown_at_login(&mut self, matching: &Match, effect: &Do) {
        let of_logins = |gate: &GateName| {
            self.gates.unwrap_or_default().iter().any(|known| known.only_logins && *known.name == **gate)
        };
        let decided = if effect.limits.max_connections.is_some() {
            "max_connections".to_owned()
        } else if let Some(gate) = effect.thresholds.keys().find(|gate| of_logins(gate)) {
            format!("thresholds.{gate}")
        } else if let Some(gate) = effect.skip_gates.iter().flatten().find(|gate| of_logins(gate)) {
            // A gate on logins beside others may be skipped by a rule on statements as far as the others go.
            if effect.skip_gates.as_ref().is_some_and(|gates| gates.len() > 1) {
                return;
            }
            format!("skip_gates: [{gate}]")
        } else {
            return;
        };
        let place = self.base.key("match");
        let both = [(place.clone(), &matching.conditions), (place.key("not"), &matching.not)];
        for (place, conditions) in both {
            for key in conditions.iter().map(|condition| &condition.key).filter(|key| !key.is_of_connection()) {
                let what = format!("`{decided}` is decided at login, when `{key}` is not known yet");
                let remedy = format!("take `{key}` out, or put `{decided}` into a rule of its own");
                self.refuse_at(place.key(&key.to_string()), At::Key, what, remedy);
            }
        }
    }
}
