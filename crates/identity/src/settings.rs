//! What an operator says about identities: which facts make a name, and whose claims count as facts.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::naming;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The facts that make a name, from the most to the least specific.
    pub name: Vec<NamePart>,
    pub trust_claims_of: Vec<Trust>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            name: vec![
                NamePart::Client,
                NamePart::Tag("app".to_owned()),
                NamePart::Attr("program_name".to_owned()),
                NamePart::User,
            ],
            trust_claims_of: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether what this client says of itself counts as if it were proven.
    pub fn trusts_claims_of(&self, user: &[u8], address: Option<IpAddr>) -> bool {
        self.trust_claims_of.iter().any(|trust| match trust {
            Trust::User(trusted) => trusted.as_ref() == user,
            Trust::Network(network) => address.is_some_and(|address| network.contains(&address.to_canonical())),
        })
    }

    /// Whether a name may depend on this tag. What neither a name nor a rule looks at can be left out of what a query
    /// says ([`crate::Said::retain`]).
    pub fn reads_tag(&self, key: &[u8]) -> bool {
        self.name.iter().any(|part| match part {
            NamePart::Client => key == naming::CLIENT_TAG,
            NamePart::Tag(tag) => tag.as_bytes() == key,
            NamePart::User
            | NamePart::Certificate
            | NamePart::Address
            | NamePart::Tool
            | NamePart::Attr(_)
            | NamePart::QueryAttr(_) => false,
        })
    }

    /// The same of a query attribute. One with the key of a tag wins over it, so whoever looks at the tag looks at both.
    pub fn reads_query_attribute(&self, key: &[u8]) -> bool {
        let named = |part: &NamePart| match part {
            NamePart::Client => key == naming::CLIENT_ATTRIBUTE,
            NamePart::QueryAttr(attribute) => attribute.as_bytes() == key,
            NamePart::User
            | NamePart::Certificate
            | NamePart::Address
            | NamePart::Tool
            | NamePart::Tag(_)
            | NamePart::Attr(_) => false,
        };
        self.reads_tag(key) || self.name.iter().any(named)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    User(Box<[u8]>),
    Network(IpNet),
}

/// One fact that becomes a part of the name, if it is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NamePart {
    /// The name that the client states itself, with all its parts.
    Client,
    User,
    /// The common name of the certificate, or its whole subject if it has not exactly one.
    Certificate,
    Address,
    Tool,
    Tag(String),
    /// Of the connection.
    Attr(String),
    QueryAttr(String),
}

impl NamePart {
    /// As it is written in `identity.name`.
    pub fn named(text: &str) -> Option<NamePart> {
        Some(match text {
            "client" => NamePart::Client,
            "user" => NamePart::User,
            "certificate" => NamePart::Certificate,
            "address" => NamePart::Address,
            "tool" => NamePart::Tool,
            _ => {
                let (kind, key) = text.split_once('.').filter(|(_, key)| !key.is_empty())?;
                match kind {
                    "tag" => NamePart::Tag(key.to_owned()),
                    "attr" => NamePart::Attr(key.to_owned()),
                    "query_attr" => NamePart::QueryAttr(key.to_owned()),
                    _ => return None,
                }
            }
        })
    }

    pub fn is_trusted(&self) -> bool {
        match self {
            NamePart::User | NamePart::Certificate | NamePart::Address => true,
            NamePart::Client | NamePart::Tool | NamePart::Tag(_) | NamePart::Attr(_) | NamePart::QueryAttr(_) => false,
        }
    }
}

impl fmt::Display for NamePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamePart::Client => f.write_str("client"),
            NamePart::User => f.write_str("user"),
            NamePart::Certificate => f.write_str("certificate"),
            NamePart::Address => f.write_str("address"),
            NamePart::Tool => f.write_str("tool"),
            NamePart::Tag(key) => write!(f, "tag.{key}"),
            NamePart::Attr(key) => write!(f, "attr.{key}"),
            NamePart::QueryAttr(key) => write!(f, "query_attr.{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_as_they_are_printed() {
        for text in
            ["client", "user", "certificate", "address", "tool", "tag.app", "attr.program_name", "query_attr.a.b"]
        {
            assert_eq!(NamePart::named(text).map(|part| part.to_string()).as_deref(), Some(text));
        }
        for text in ["", "tag", "tag.", "Client", "tags.app", "schema", " user", "."] {
            assert_eq!(NamePart::named(text), None, "{text}");
        }
    }

    #[test]
    fn names_read_what_they_are_made_of() {
        let name = ["client", "tag.app", "query_attr.job", "attr.program_name", "user"];
        let settings =
            Settings { name: name.iter().filter_map(|part| NamePart::named(part)).collect(), ..Settings::default() };
        for (key, tag, attribute) in [
            ("app", true, true),
            ("client", true, true),
            ("tollgate_client", false, true),
            ("job", false, true),
            ("program_name", false, false),
            ("request_id", false, false),
            ("user", false, false),
        ] {
            let key = key.as_bytes();
            assert_eq!((settings.reads_tag(key), settings.reads_query_attribute(key)), (tag, attribute), "{key:?}");
        }
    }

    #[test]
    fn claims_are_trusted_by_user_or_network() {
        let settings = Settings {
            trust_claims_of: vec![
                Trust::User(b"app"[..].into()),
                Trust::Network("10.2.0.0/16".parse().unwrap()),
                Trust::Network("fd00::/8".parse().unwrap()),
            ],
            ..Settings::default()
        };
        for (user, address, trusted) in [
            (&b"app"[..], None, true),
            (b"app2", None, false),
            (b"ap", Some("10.3.0.1"), false),
            (b"x", Some("10.2.255.1"), true),
            (b"x", Some("::ffff:10.2.0.1"), true),
            (b"x", Some("fd12::1"), true),
            (b"", None, false),
        ] {
            let address = address.map(|address| address.parse().unwrap());
            assert_eq!(settings.trusts_claims_of(user, address), trusted, "{user:?} {address:?}");
            assert!(!Settings::default().trusts_claims_of(user, address));
        }
    }
}
