//! One value of a match key, from its text.

use rules::{Key, Scope, Value};
use statement::{Class, Fingerprint, Mode, Shapes};

use super::table;
use crate::closest::closest;
use crate::tree::Complaint;
use crate::value::Network;

/// Longer than any fact that is kept.
const MAX_TEXT: usize = 256;
const MAX_STATEMENT: usize = 64 * 1024;

pub(crate) fn value(key: &Key, text: &str) -> Result<Value, Complaint> {
    let longest = if *key == Key::Fingerprint { MAX_STATEMENT } else { MAX_TEXT };
    if text.len() > longest {
        let what = format!("the text has {} bytes", text.len());
        return Err(Complaint::new(what, format!("write at most {longest}: nothing longer is compared")));
    }
    match key {
        Key::Scope => scope(text),
        Key::Address => Ok(Value::Network(Network::parse(text)?.0)),
        Key::Class => class(text),
        Key::Fingerprint => fingerprint(text),
        Key::Table => table::parse(text).map(|table| Value::Table { schema: table.schema, name: table.name }),
        Key::Shape => shape(text),
        Key::User | Key::Schema | Key::Listener | Key::Tool | Key::Attr(_) | Key::Tag(_) | Key::QueryAttr(_) => {
            Ok(Value::Text(text.as_bytes().into()))
        }
    }
}

fn scope(text: &str) -> Result<Value, Complaint> {
    if text.is_empty() || text.split(':').any(str::is_empty) {
        let what = if text.is_empty() { "the scope is empty" } else { "a name has no empty parts" };
        return Err(Complaint::new(what, "write a name or a part of one, such as `etl` or `*:etl:*`; `*` is everyone"));
    }
    Ok(Value::Scope(Scope { text: text.into() }))
}

fn class(text: &str) -> Result<Value, Complaint> {
    const CLASSES: [&str; 6] = ["read", "write", "call", "unparsed", "ddl", "control"];
    text.parse::<Class>().map(Value::Class).map_err(|_| no_such("class", text, &CLASSES))
}

fn shape(text: &str) -> Result<Value, Complaint> {
    let names = Shapes::NAMES.map(|(name, _)| name);
    Shapes::named(text).map(Value::Shape).ok_or_else(|| no_such("shape", text, &names))
}

fn no_such(kind: &str, text: &str, known: &[&str]) -> Complaint {
    let all: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
    let remedy = match closest(text, known) {
        Some(near) => format!("did you mean `{near}`? There are {}", all.join(", ")),
        None => format!("write one of {}", all.join(", ")),
    };
    Complaint::new(format!("`{text}` is no {kind}"), remedy)
}

/// Ours, a digest as MySQL prints it, or a statement (or digest text) to take the fingerprint of.
fn fingerprint(text: &str) -> Result<Value, Complaint> {
    let hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text.len() {
        32 if hex => text.parse::<Fingerprint>().map(Value::Fingerprint).map_err(|_| no_fingerprint(text)),
        64 if hex => Ok(Value::Digest(text.to_ascii_lowercase().into())),
        _ if hex || text.trim().is_empty() => Err(no_fingerprint(text)),
        _ => Ok(Value::Fingerprint(statement::fingerprint(text.as_bytes(), Mode::default()))),
    }
}

fn no_fingerprint(text: &str) -> Complaint {
    let what = format!("`{text}` has {} digits", text.len());
    let remedy = "write our fingerprint (32 hexadecimal digits), MySQL's DIGEST (64), or the statement itself";
    Complaint::new(if text.trim().is_empty() { "the fingerprint is empty".to_owned() } else { what }, remedy)
}
