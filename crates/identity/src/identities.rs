//! Who asks, twice: as claimed, and on trusted facts alone.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use crate::identity::Identity;
use crate::limits;
use crate::naming;
use crate::pairs::Pairs;
use crate::said::Said;
use crate::settings::Settings;
use crate::tool;

/// The facts of a connection after its login.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    pub user: &'a [u8],
    /// `None` on a Unix socket.
    pub address: Option<IpAddr>,
    /// The subject of a certificate that was verified.
    pub certificate: Option<&'a str>,
    pub listener: &'a Arc<str>,
    pub attributes: &'a [(Vec<u8>, Vec<u8>)],
}

#[derive(Debug, Clone)]
pub struct Identities {
    pub claimed: Arc<Identity>,
    /// On trusted facts alone. `None` if that is the same, or if the claims are trusted: one judgement is enough.
    pub trusted: Option<Arc<Identity>>,
    /// What did not count when these were made: keys with different values, several tools, too many pairs. Those of the
    /// connection are not counted again with its queries.
    pub conflicts: u32,
}

pub fn of_connection(settings: &Settings, connection: &Connection<'_>) -> Identities {
    let attributes = connection.attributes.iter().take(limits::CONNECTION_ATTRIBUTES);
    let attributes = attributes.map(|(key, value)| (key.as_slice(), value.as_slice()));
    let (attrs, conflicts) =
        Pairs::new(attributes.filter(|(key, value)| limits::is_key(key) && limits::is_value(value)));
    let tool = attrs.get(b"program_name").and_then(tool::of_program).map(Box::from);
    let mut claimed = Identity {
        user: connection.user.into(),
        address: connection.address.map(|address| address.to_canonical()),
        certificate: connection.certificate.map(Box::from),
        listener: Arc::clone(connection.listener),
        attrs,
        tool,
        ..Identity::default()
    };
    claimed.name = naming::name(&settings.name, &claimed);
    let claimed = Arc::new(claimed);
    Identities { trusted: trusted(settings, &claimed), claimed, conflicts: count(conflicts) }
}

/// The identity of a query: its connection's, and what it says itself. `connection` must be of the same settings.
pub fn of_query(settings: &Settings, connection: &Identities, said: &Said<'_>) -> Identities {
    if said.is_empty() {
        return Identities { conflicts: 0, ..connection.clone() };
    }
    let (query_attrs, attribute_conflicts) = Pairs::new(said.query_attributes());
    let (tags, tag_conflicts) = tags(said, &query_attrs);
    let of_connection = connection.claimed.as_ref();
    let mut claimed = Identity {
        tags,
        query_attrs,
        // What a comment says is of this very query.
        tool: said.tool().map(Box::from).or_else(|| of_connection.tool.clone()),
        ..of_connection.clone()
    };
    claimed.name = naming::name(&settings.name, &claimed);
    let claimed = Arc::new(claimed);
    let trusted = match &connection.trusted {
        Some(trusted) => Some(Arc::clone(trusted)),
        None if of_connection.has_claims() => trusted(settings, &claimed),
        None if !claimed.has_claims() || settings.trusts_claims_of(&claimed.user, claimed.address) => None,
        None => Some(Arc::clone(&connection.claimed)),
    };
    Identities { claimed, trusted, conflicts: said.conflicts() + count(attribute_conflicts) + count(tag_conflicts) }
}

/// Where a query attribute has the key of a tag its value stands: it is of this execution, while a comment may be of the
/// PREPARE, and nobody injects it with SQL.
fn tags(said: &Said<'_>, query_attrs: &Pairs) -> (Pairs, usize) {
    let mut tags: Vec<_> = said.tags().collect();
    for (key, value) in &mut tags {
        if let Some(winner) = query_attrs.get(key) {
            *value = Cow::Owned(winner.to_vec());
        }
    }
    Pairs::new(tags.iter().map(|(key, value)| (key.as_ref(), value.as_ref())))
}

/// The identity without its claims, if that makes a difference.
fn trusted(settings: &Settings, claimed: &Identity) -> Option<Arc<Identity>> {
    if !claimed.has_claims() || settings.trusts_claims_of(&claimed.user, claimed.address) {
        return None;
    }
    let mut trusted = Identity {
        user: claimed.user.clone(),
        address: claimed.address,
        certificate: claimed.certificate.clone(),
        listener: Arc::clone(&claimed.listener),
        ..Identity::default()
    };
    trusted.name = naming::name(&settings.name, &trusted);
    Some(Arc::new(trusted))
}

fn count(conflicts: usize) -> u32 {
    u32::try_from(conflicts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
