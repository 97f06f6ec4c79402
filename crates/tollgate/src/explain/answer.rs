//! An explanation as JSON: the same from a file and from a running proxy.

use std::time::Duration;

use admission::explain::{Explanation, Facts, Judged, Lost, Owned, Place, Ruling, Then};
use admission::unit::{Bound, Turn};
use identity::{Identity, Pairs};
use serde_json::{Map, Value as Json, json};
use statement::Shapes;

pub(crate) fn answer(explained: &Explanation) -> Json {
    let shapes = Shapes::NAMES.iter().filter(|(_, shape)| explained.shapes.contains(*shape));
    let shapes: Vec<&str> = shapes.map(|(name, _)| *name).collect();
    let tables = explained.tables.as_ref().map(|tables| {
        let name = |table: &statement::Table| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.to_string(),
        };
        tables.iter().map(name).collect::<Vec<String>>()
    });
    let error = explained.refusal.as_ref().map(|refusal| {
        let sqlstate = String::from_utf8_lossy(&refusal.sqlstate);
        json!({ "code": refusal.code, "sqlstate": sqlstate, "message": refusal.message })
    });
    json!({
        "identity": identity(&explained.claimed),
        "trusted": explained.trusted.as_deref().map(identity),
        "claims_are_trusted": explained.trusted.is_none() && explained.claimed.has_claims(),
        "conflicts": explained.conflicts,
        "statement": explained.normalised,
        "class": explained.class.to_string(),
        "shapes": shapes,
        "tables": tables,
        "fingerprint": explained.fingerprint.to_string(),
        "unit": turn(&explained.turn),
        "judgements": explained.judgements.iter().map(judged).collect::<Vec<Json>>(),
        "owners": owned(&explained.owners),
        "with_warned": explained.warned.as_ref().map(owned),
        "verdict": ruling(&explained.ruling),
        "would_be": explained.would_be.as_ref().map(ruling),
        "error": error,
    })
}

fn identity(identity: &Identity) -> Json {
    json!({
        "name": identity.name.as_str(),
        "user": String::from_utf8_lossy(&identity.user),
        "address": identity.address.map(|address| address.to_string()),
        "certificate": identity.certificate,
        "listener": &*identity.listener,
        "attrs": pairs(&identity.attrs),
        "tags": pairs(&identity.tags),
        "query_attrs": pairs(&identity.query_attrs),
        "tool": identity.tool.as_deref().map(String::from_utf8_lossy),
    })
}

fn pairs(pairs: &Pairs) -> Map<String, Json> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    pairs.iter().map(|(key, value)| (text(key), json!(text(value)))).collect()
}

/// What a statement's place in its transaction means.
fn turn(turn: &Turn) -> Json {
    let (kind, says) = match turn {
        Turn::Free => ("free", "never delayed"),
        Turn::GoesOn => ("goes_on", "part of a transaction that has been decided: it passes"),
        Turn::GoesOnUnlessRuled => (
            "goes_on",
            "part of a transaction that has written: it passes unless a rule's `in_transaction` says otherwise",
        ),
        Turn::Decide(Bound::Full) => ("decide", "decided as a whole, and held as long as the rule says"),
        Turn::Decide(Bound::Brief) => {
            ("decide", "decided within a transaction that may hold metadata locks: held for 1 s at most")
        }
        Turn::Decide(Bound::Locked) => {
            ("decide", "of a session that holds locks: held for 250 ms at most, then it passes")
        }
        Turn::Refused(_) => ("refused", "part of a transaction that has been refused"),
    };
    json!({ "turn": kind, "says": says })
}

fn judged(judged: &Judged) -> Json {
    let on = match judged.on {
        Facts::All => "all facts",
        Facts::Trusted => "trusted facts",
    };
    let rule = |one: &admission::explain::Considered| {
        let owns: Vec<String> = one.owns.iter().map(ToString::to_string).collect();
        json!({
            "rule": *one.rule,
            "origin": one.origin.as_str(),
            "mode": one.mode.as_str(),
            "matches": one.matches,
            "owns": owns,
            "because": one.because,
        })
    };
    json!({ "on": on, "rules": judged.considered.iter().map(rule).collect::<Vec<Json>>() })
}

fn owned(owned: &Owned) -> Json {
    let limits: Vec<&str> = owned.concurrency.iter().map(|rule| &**rule).collect();
    json!({ "share": owned.share.as_deref(), "max_concurrency": limits })
}

/// What comes of it, for machines; `says` is for people.
fn ruling(ruling: &Ruling) -> Json {
    let says = ruling.to_string();
    match ruling {
        Ruling::NeverDelayed | Ruling::GoesOn | Ruling::NoRule => json!({ "verdict": "pass", "says": says }),
        Ruling::Exempt { rule } => json!({ "verdict": "pass", "rule": **rule, "exempt": true, "says": says }),
        Ruling::Limited { places: limits } => {
            json!({ "verdict": "limited", "places": places(limits), "says": says })
        }
        Ruling::Dice { rule, ratio, lost, places: limits } => {
            let (action, time, then) = match lost {
                Lost::Refused => ("reject", None, Then::Refused),
                Lost::Delayed(time, then) => ("delay", Some(millis(*time)), *then),
            };
            json!({ "verdict": "dice", "rule": **rule, "rejection_ratio": ratio, "action": action, "max_delay_ms": time,
                    "then": then.to_string(), "places": places(limits), "says": says })
        }
        Ruling::Held { rule, patience, ends, then } => {
            json!({ "verdict": "hold", "rule": **rule, "max_delay_ms": millis(*patience),
                    "ends": ends.map(|ends| ends.to_string()), "then": then.to_string(), "says": says })
        }
    }
}

fn places(places: &[Place]) -> Vec<Json> {
    let place = |place: &Place| {
        json!({ "rule": *place.rule, "limit": place.limit, "used": place.used, "rejects": place.rejects,
                "max_delay_ms": millis(place.patience) })
    };
    places.iter().map(place).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
