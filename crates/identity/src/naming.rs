//! A name made from the facts that the settings list.

use crate::identity::Identity;
use crate::name::Name;
use crate::settings::NamePart;

/// What a client calls itself in its connection or query attributes.
pub(crate) const CLIENT_ATTRIBUTE: &[u8] = b"tollgate_client";
/// The same in a comment.
pub(crate) const CLIENT_TAG: &[u8] = b"client";

const PART_BYTES: usize = 64;
const CLIENT_PARTS: usize = 8;
const NAME_BYTES: usize = 256;

/// Claims add parts and take none away: a trusted part keeps its place and its room whatever is claimed. So the name that
/// is made of the trusted facts alone is always within the claimed one, part by part.
pub(crate) fn name(settings: &[NamePart], identity: &Identity) -> Name {
    let mut parts: Vec<Part> = settings.iter().flat_map(|part| parts_of(part, identity)).collect();
    each_once(&mut parts);
    bound(&mut parts);
    let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
    Name::new(&texts.join(":"))
}

#[derive(Debug, PartialEq, Eq)]
struct Part {
    text: String,
    trusted: bool,
}

fn parts_of(part: &NamePart, identity: &Identity) -> Vec<Part> {
    let address = identity.address.map(|address| address.to_string());
    let value = match part {
        NamePart::Client => return client_parts(identity),
        NamePart::User => Some(identity.user.as_ref()),
        NamePart::Certificate => identity.certificate.as_deref().map(|subject| common_name(subject).as_bytes()),
        NamePart::Address => address.as_ref().map(|address| address.as_bytes()),
        NamePart::Tool => identity.tool.as_deref(),
        NamePart::Tag(key) => identity.tags.get(key.as_bytes()),
        NamePart::Attr(key) => identity.attrs.get(key.as_bytes()),
        NamePart::QueryAttr(key) => identity.query_attrs.get(key.as_bytes()),
    };
    value.and_then(clean).map(|text| Part { text, trusted: part.is_trusted() }).into_iter().collect()
}

/// What the query states comes before what the connection states, being more specific.
fn client_parts(identity: &Identity) -> Vec<Part> {
    let of_query = identity.query_attrs.get(CLIENT_ATTRIBUTE).or_else(|| identity.tags.get(CLIENT_TAG));
    let of_connection = identity.attrs.get(CLIENT_ATTRIBUTE);
    let stated = of_query.into_iter().chain(of_connection);
    stated
        .flat_map(|name| name.split(|&byte| byte == b':'))
        .filter_map(clean)
        .map(|text| Part { text, trusted: false })
        .take(CLIENT_PARTS)
        .collect()
}

/// The text of a part: without what separates parts, stands for others in a scope, or could be mistaken for more than a
/// name in a message or a log. Nobody can be called like those without a name, or without room.
fn clean(value: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(value);
    let mut text = String::new();
    for character in value.trim().chars() {
        let fits = character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '@' | '+');
        let character = if fits { character } else { '_' };
        if text.len() + character.len_utf8() > PART_BYTES {
            break;
        }
        text.push(character);
    }
    if [Name::UNATTRIBUTED, Name::OVERFLOW].iter().any(|reserved| text.eq_ignore_ascii_case(reserved)) {
        text.push('_');
    }
    (!text.is_empty()).then_some(text)
}

/// A part that comes twice stays where it is trusted, or else where it comes first.
fn each_once(parts: &mut Vec<Part>) {
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        match kept.iter().position(|other| other.text == part.text) {
            None => kept.push(part),
            Some(at) if part.trusted && kept.get(at).is_some_and(|other| !other.trusted) => {
                kept.remove(at);
                kept.push(part);
            }
            Some(_) => {}
        }
    }
    *parts = kept;
}

/// Trusted parts take their room first.
fn bound(parts: &mut Vec<Part>) {
    let mut room = NAME_BYTES;
    let mut fits = |part: &Part| {
        let left = room.checked_sub(part.text.len() + 1);
        room = left.unwrap_or(room);
        left.is_some()
    };
    let trusted: Vec<bool> = parts.iter().map(|part| part.trusted && fits(part)).collect();
    let mut trusted = trusted.into_iter();
    parts.retain(|part| trusted.next().unwrap_or(false) || (!part.trusted && fits(part)));
}

/// The one common name of `C=DE, O=Example, CN=etl`, or else the whole subject. What could pass for structure is escaped
/// with a backslash in there.
fn common_name(subject: &str) -> &str {
    let mut names = relative_names(subject).filter_map(|name| name.strip_prefix("CN="));
    match (names.next(), names.next()) {
        (Some(name), None) => name,
        _ => subject,
    }
}

fn relative_names(subject: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    subject
        .split(move |character| {
            let separates = character == ',' && !escaped;
            escaped = character == '\\' && !escaped;
            separates
        })
        .map(str::trim)
}

#[cfg(test)]
mod tests;
