//! All the keys that there are, taken from the raw structs themselves.

use serde::de::DeserializeOwned;

use crate::raw::{Raw, RawGate, RawMetric};
use crate::rule::{MATCH_KEYS, RawActive, RawDo, RawRule};
use crate::tree::{KeyPath, Node, Step, Trouble, read};
use crate::value::RawHeartbeat;

/// Every key as its path, such as `upstream.tls` or `rules[].id`, in the order in which the sections are declared.
///
/// Made by asking for a key that there is not, and reading off the answer: so it cannot be out of date.
pub fn keys() -> Vec<String> {
    let mut all = Vec::new();
    for &key in keys_of(None) {
        all.push(key.to_owned());
        all.extend(keys_of(Some(key)).iter().map(|inner| format!("{key}.{inner}")));
    }
    all.extend(known_to::<RawHeartbeat>().iter().map(|key| format!("probe.heartbeat.{key}")));
    all.extend(rule_keys());
    for (section, keys) in [("gates", known_to::<RawGate>()), ("metrics", known_to::<RawMetric>())] {
        all.extend(keys.iter().map(|key| format!("{section}.*.{key}")));
    }
    all
}

/// Of a rule, wherever it stands; under `match`, `*` is any name.
fn rule_keys() -> Vec<String> {
    let mut all = Vec::new();
    for &key in known_to::<RawRule>() {
        all.push(format!("rules[].{key}"));
        let inner = match key {
            "match" => MATCH_KEYS,
            "do" => known_to::<RawDo>(),
            "active" => known_to::<RawActive>(),
            _ => &[],
        };
        all.extend(inner.iter().map(|inner| format!("rules[].{key}.{inner}")));
    }
    all
}

/// The section that has a key of this name, if the place where it was written is the only thing wrong with it.
pub(crate) fn home_of(path: &KeyPath) -> Option<String> {
    let Some(Step::Key(name)) = path.0.last() else { return None };
    let here = path.pattern();
    let all = keys();
    let mut homes = all.iter().filter_map(|key| key.rsplit_once('.')).filter(|(_, last)| last == name);
    let (section, last) = homes.next()?;
    // With several, none is surely meant.
    (homes.next().is_none() && format!("{section}.{last}") != here).then(|| section.to_owned())
}

fn keys_of(section: Option<&str>) -> &'static [&'static str] {
    match section {
        None => known_to::<Raw>(),
        Some(section) => known_in::<Raw>(&Node::Map(vec![(section.to_owned(), stranger())])),
    }
}

fn known_to<T: DeserializeOwned>() -> &'static [&'static str] {
    known_in::<T>(&stranger())
}

fn known_in<T: DeserializeOwned>(tree: &Node) -> &'static [&'static str] {
    let mut troubles: Vec<Trouble> = Vec::new();
    read::<T>(tree, &mut troubles);
    troubles.first().and_then(|trouble| trouble.known_keys).unwrap_or(&[])
}

fn stranger() -> Node {
    Node::Map(vec![("no such key".to_owned(), Node::Null)])
}
