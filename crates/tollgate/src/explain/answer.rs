//! An explanation as JSON: the same from a file and from a running proxy.

use std::time::Duration;

use admission::explain::{AtGate, Does, Explanation, Facts, Judged, Lost, Owned, Place, Ruling, Then, Touched};
use admission::port::Refusal;
use admission::unit::{Bound, Turn};
use health::Aggregate;
use identity::{Identity, Pairs};
use serde_json::{Map, Value as Json, json};
use statement::{Class, Doubts, Shapes};

pub(crate) fn answer(explained: &Explanation) -> Json {
    let shapes = Shapes::NAMES.iter().filter(|(_, shape)| explained.shapes.contains(*shape));
    let shapes: Vec<&str> = shapes.map(|(name, _)| *name).collect();
    let (tables, possible) = match &explained.tables {
        Touched::These(tables) => (Some(table_names(tables)), None),
        Touched::SomeOf(tables) => (None, Some(table_names(tables))),
        Touched::Any => (None, None),
    };
    json!({
        "identity": identity(&explained.claimed),
        "trusted": explained.trusted.as_deref().map(identity),
        "claims_are_trusted": explained.trusted.is_none() && explained.claimed.has_claims(),
        "conflicts": explained.conflicts,
        "statement": explained.normalised,
        "class": explained.class.to_string(),
        "classes": explained.classes.iter().map(Class::as_str).collect::<Vec<&str>>(),
        "doubts": doubts(explained.doubts),
        "shapes": shapes,
        "tables": tables,
        "possible_tables": possible,
        "fingerprint": explained.fingerprints.first().map(ToString::to_string),
        "fingerprints": explained.fingerprints.iter().map(ToString::to_string).collect::<Vec<String>>(),
        "unit": turn(&explained.turn),
        "judgements": explained.judgements.iter().map(judged).collect::<Vec<Json>>(),
        "owners": owned(&explained.owners),
        "with_warned": explained.warned.as_ref().map(owned),
        "gates": explained.gates.iter().map(at_gate).collect::<Vec<Json>>(),
        "verdict": ruling(&explained.ruling),
        "would_be": explained.would_be.as_ref().map(ruling),
        "error": explained.refusal.as_ref().map(error),
        "gate_error": explained.gate_refusal.as_ref().map(error),
    })
}

fn table_names(tables: &[statement::Table]) -> Vec<String> {
    let name = |table: &statement::Table| match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.to_string(),
    };
    tables.iter().map(name).collect()
}

/// Why a fact of the statement is not certain: a name, and a sentence.
fn doubts(doubts: Doubts) -> Vec<Json> {
    let sentence = |doubt: Doubts| match doubt {
        Doubts::READINGS => "its bytes can be read in more than one way: by sql_mode, by character set, or by version",
        Doubts::CUT => "it is longer than limits.inspect: the rest is not seen",
        Doubts::FUNCTIONS => "it may call a function that is not the server's own",
        Doubts::TABLES => "the tables that it touches are not known for certain",
        Doubts::ROUTINE => "it calls a routine, whose statements are not in the text",
        _ => "its text, or a part of it, is not seen or not understood",
    };
    let found = Doubts::NAMES.into_iter().filter(|(_, doubt)| doubts.contains(*doubt));
    found.map(|(name, doubt)| json!({ "doubt": name, "because": sentence(doubt) })).collect()
}

fn error(refusal: &Refusal) -> Json {
    let sqlstate = String::from_utf8_lossy(&refusal.sqlstate);
    json!({ "code": refusal.code, "sqlstate": sqlstate, "message": refusal.message })
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
        Turn::Decide(Bound::AfterReads) => (
            "decide",
            "decided within a transaction that has only read, and holds metadata locks: held for `max_delay_after_reads` at most",
        ),
        Turn::Decide(Bound::Brief) => {
            ("decide", "decided within a transaction that may hold locks: held for 1 s at most")
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
    let thresholds = owned.thresholds.iter().map(|(gate, rule)| (gate.to_string(), json!(**rule)));
    let thresholds: Map<String, Json> = thresholds.collect();
    json!({
        "share": owned.share.as_deref(),
        "max_concurrency": limits,
        "thresholds": thresholds,
        "skip_gates": owned.skip_gates.as_deref(),
        "weight": owned.weight.as_deref(),
    })
}

/// What a gate has to do with it, for machines; `because` and `says` are for people.
fn at_gate(at: &AtGate) -> Json {
    let measured = at.measured.as_ref();
    let (does, rule) = match &at.does {
        Does::Nothing => ("nothing", None),
        Does::NeverDelayed | Does::GoesOn | Does::Passes | Does::HasRoom => ("pass", None),
        Does::Exempt(rule) | Does::Skipped(rule) => ("pass", Some(&**rule)),
        Does::NotMeasured => ("not_measured", None),
        Does::Wakes | Does::Waits(_) => ("wait", None),
        Does::Rejects => ("reject", None),
    };
    let (value, unknown) = match measured.map(|measured| measured.aggregate) {
        Some(Aggregate::Known(value)) => (Some(value), None),
        Some(Aggregate::Idle) | None => (None, None),
        Some(Aggregate::Unknown(why)) => (None, Some(why.as_str())),
    };
    json!({
        "gate": *at.gate,
        "metric": *at.metric,
        "unit": at.unit.as_str(),
        "control": at.control.as_str(),
        "mode": at.mode.as_str(),
        "concerns": at.concerns.is_so(),
        "because": at.concerns.to_string(),
        "value": value,
        "unknown": unknown,
        "threshold": at.threshold,
        "threshold_in_force": at.stands,
        "threshold_of": at.threshold_of.as_deref(),
        "state": measured.map_or("not measured", |measured| measured.state.as_str()),
        "flow": measured.map(|measured| measured.flow.to_string()),
        "in_flight": measured.map(|measured| measured.in_flight),
        "waiting": measured.map(|measured| measured.waiting),
        "does": does,
        "passed_by": rule,
        "max_delay_ms": at.does.stops().then(|| millis(at.patience)),
        "says": at.says(),
    })
}

/// What comes of it, for machines; `says` is for people.
fn ruling(ruling: &Ruling) -> Json {
    let says = ruling.to_string();
    match ruling {
        Ruling::NeverDelayed | Ruling::GoesOn | Ruling::NoRule => json!({ "verdict": "pass", "says": says }),
        Ruling::Exempt { rule, places: limits } => {
            json!({ "verdict": "pass", "rule": **rule, "exempt": true, "places": places(limits), "says": says })
        }
        Ruling::Limited { places: limits, gates } => {
            let stopped = ruling.stopped_at();
            let verdict = match stopped.map(|gate| &gate.does) {
                None => "limited",
                Some(Does::Rejects) => "reject",
                Some(_) => "hold",
            };
            json!({ "verdict": verdict, "gate": stopped.map(|gate| &*gate.gate), "places": places(limits),
                    "gates": names(gates), "max_delay_ms": stopped.map(|gate| millis(gate.patience)), "says": says })
        }
        Ruling::Dice { rule, ratio, lost, places: limits, gates } => {
            let (action, time, then) = match lost {
                Lost::Refused => ("reject", None, Then::Refused),
                Lost::Delayed(time, then) => ("delay", Some(millis(*time)), *then),
            };
            json!({ "verdict": "dice", "rule": **rule, "rejection_ratio": ratio, "action": action, "max_delay_ms": time,
                    "then": then.to_string(), "places": places(limits), "gates": names(gates),
                    "gate": ruling.stopped_at().map(|gate| &*gate.gate), "says": says })
        }
        Ruling::Held { rule, patience, ends, then } => {
            json!({ "verdict": "hold", "rule": **rule, "max_delay_ms": millis(*patience),
                    "ends": ends.map(|ends| ends.to_string()), "then": then.to_string(), "says": says })
        }
    }
}

/// Gates that let less than everything through.
fn names(gates: &[AtGate]) -> Vec<&str> {
    gates.iter().map(|gate| &*gate.gate).collect()
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
