//! The overlay as a text: JSON with a version, for people to read too.

use rules::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::state::{Ending, Incident, Past, State};
use crate::rule::{from_stored, to_json};

/// Goes up when an older version could not read the file, or would lose something of it.
pub(super) const FORMAT: u64 = 1;

pub(super) fn write(state: &State) -> Vec<u8> {
    let past = |past: &Past| {
        let how = ending_word(past.how);
        json!({ "rule": to_json(&past.rule), "ended": past.ended.to_string(), "how": how })
    };
    let file = json!({
        "format": FORMAT,
        "rules": state.rules.iter().map(to_json).collect::<Vec<Json>>(),
        "incidents": state.incidents.iter().map(incident_json).collect::<Vec<Json>>(),
        "past": state.past.iter().map(past).collect::<Vec<Json>>(),
    });
    format!("{file:#}\n").into_bytes()
}

pub(super) enum Parsed {
    /// With what could not be understood of it.
    Good(State, Vec<String>),
    Newer(u64),
    Broken(String),
}

pub(super) fn read(bytes: &[u8]) -> Parsed {
    let json: Json = match serde_json::from_slice(bytes) {
        Ok(json) => json,
        Err(error) => return Parsed::Broken(error.to_string()),
    };
    match json.get("format").and_then(Json::as_u64) {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => return Parsed::Newer(newer),
        _ => return Parsed::Broken("it has no format that we know".to_owned()),
    }
    let mut lost = Vec::new();
    let state = State {
        rules: entries(&json, "rules", &mut lost, rule),
        incidents: entries(&json, "incidents", &mut lost, incident),
        past: entries(&json, "past", &mut lost, past),
    };
    Parsed::Good(unique(state, &mut lost), lost)
}

fn entries<T>(json: &Json, key: &str, lost: &mut Vec<String>, read: impl Fn(&Json) -> Result<T, String>) -> Vec<T> {
    let Some(list) = json.get(key).and_then(Json::as_array) else {
        lost.push(format!("{key} is not a list"));
        return Vec::new();
    };
    let mut kept = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        match read(entry) {
            Ok(entry) => kept.push(entry),
            Err(why) => lost.push(format!("{key}[{index}]{}: {why}", name(entry))),
        }
    }
    kept
}

fn name(entry: &Json) -> String {
    entry.get("id").and_then(Json::as_str).map(|id| format!(" ({id})")).unwrap_or_default()
}

/// Of two with one id the first counts.
fn unique(mut state: State, lost: &mut Vec<String>) -> State {
    let mut seen = std::collections::HashSet::new();
    state.rules.retain(|rule| {
        let first = seen.insert(rule.id.clone());
        if !first {
            lost.push(format!("the second rule called {}", rule.id));
        }
        first
    });
    state
}

fn rule(json: &Json) -> Result<rules::Rule, String> {
    // Whether it has ended is of no account here.
    from_stored(json, Timestamp(0)).map_err(|problems| {
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        said.join(", ")
    })
}

fn past(json: &Json) -> Result<Past, String> {
    let how = text(json, "how").and_then(|word| ending(&word)).ok_or("how it ended is missing")?;
    let rule = rule(json.get("rule").ok_or("the rule is missing")?)?;
    Ok(Past { rule, ended: moment(json, "ended")?, how })
}

fn incident(json: &Json) -> Result<Incident, String> {
    Ok(Incident {
        id: text(json, "id").ok_or("its id is missing")?,
        playbook: text(json, "playbook"),
        opened: moment(json, "opened")?,
        opened_by: text(json, "opened_by"),
        reason: text(json, "reason"),
    })
}

fn incident_json(incident: &Incident) -> Json {
    let mut keys = Map::new();
    let texts = [
        ("id", Some(&incident.id)),
        ("playbook", incident.playbook.as_ref()),
        ("opened_by", incident.opened_by.as_ref()),
        ("reason", incident.reason.as_ref()),
    ];
    keys.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text?)))));
    keys.insert("opened".to_owned(), json!(incident.opened.to_string()));
    Json::Object(keys)
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).map(str::to_owned)
}

fn moment(json: &Json, key: &str) -> Result<Timestamp, String> {
    text(json, key).and_then(|text| Timestamp::parse(&text)).ok_or_else(|| format!("`{key}` is no moment"))
}

const ENDINGS: [(Ending, &str); 3] =
    [(Ending::Expired, "expired"), (Ending::Ended, "ended"), (Ending::Closed, "closed")];

fn ending_word(ending: Ending) -> &'static str {
    ENDINGS.iter().find(|(known, _)| *known == ending).map_or("ended", |(_, word)| word)
}

fn ending(word: &str) -> Option<Ending> {
    ENDINGS.iter().find(|(_, known)| *known == word).map(|(ending, _)| *ending)
}
