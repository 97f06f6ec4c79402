//! A condition on who asks.

use identity::{Identity, Pairs};
use ipnet::IpNet;

use crate::matching::{Condition, Key, Value};
use crate::scope::Pattern;
use crate::specificity::Fit;

#[derive(Debug)]
pub(crate) enum Fact {
    Scope(Box<[Pattern]>),
    User(Texts),
    /// The longest prefix first.
    Address(Box<[IpNet]>),
    Listener(Texts),
    Tool(Texts),
    Attr(Box<[u8]>, Texts),
    Tag(Box<[u8]>, Texts),
    QueryAttr(Box<[u8]>, Texts),
}

impl Fact {
    /// `None` for a key that is about what is asked.
    pub(crate) fn new(condition: &Condition) -> Option<Fact> {
        let texts = || Texts::new(&condition.values);
        let name = |name: &str| name.as_bytes().into();
        Some(match &condition.key {
            Key::Scope => Fact::Scope(patterns(&condition.values)),
            Key::User => Fact::User(texts()),
            Key::Address => Fact::Address(networks(&condition.values)),
            Key::Listener => Fact::Listener(texts()),
            Key::Tool => Fact::Tool(texts()),
            Key::Attr(key) => Fact::Attr(name(key), texts()),
            Key::Tag(key) => Fact::Tag(name(key), texts()),
            Key::QueryAttr(key) => Fact::QueryAttr(name(key), texts()),
            Key::Class | Key::Shape | Key::Schema | Key::Fingerprint | Key::Table => return None,
        })
    }

    /// How the best of its values fits, if any does.
    pub(crate) fn fit(&self, identity: &Identity) -> Option<Fit> {
        let pair = |pairs: &Pairs, key: &[u8], texts: &Texts| pairs.get(key).is_some_and(|value| texts.contain(value));
        let holds = match self {
            Fact::Scope(patterns) => {
                return patterns.iter().filter(|pattern| pattern.matches(&identity.name)).map(Pattern::fit).max();
            }
            Fact::Address(networks) => {
                let address = identity.address?;
                return networks.iter().find(|network| network.contains(&address)).map(network_fit);
            }
            Fact::User(texts) => texts.contain(&identity.user),
            Fact::Listener(texts) => texts.contain(identity.listener.as_bytes()),
            Fact::Tool(texts) => identity.tool.as_ref().is_some_and(|tool| texts.contain(tool)),
            Fact::Attr(key, texts) => pair(&identity.attrs, key, texts),
            Fact::Tag(key, texts) => pair(&identity.tags, key, texts),
            Fact::QueryAttr(key, texts) => pair(&identity.query_attrs, key, texts),
        };
        holds.then_some(Fit::Exact)
    }

    pub(crate) fn key(&self) -> Key {
        let name = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        match self {
            Fact::Scope(_) => Key::Scope,
            Fact::User(_) => Key::User,
            Fact::Address(_) => Key::Address,
            Fact::Listener(_) => Key::Listener,
            Fact::Tool(_) => Key::Tool,
            Fact::Attr(key, _) => Key::Attr(name(key)),
            Fact::Tag(key, _) => Key::Tag(name(key)),
            Fact::QueryAttr(key, _) => Key::QueryAttr(name(key)),
        }
    }

    /// What the identity has for the key, for people.
    pub(crate) fn found(&self, identity: &Identity) -> Option<String> {
        let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        match self {
            Fact::Scope(_) => Some(identity.name.to_string()),
            Fact::User(_) => Some(text(&identity.user)),
            Fact::Address(_) => identity.address.map(|address| address.to_string()),
            Fact::Listener(_) => Some(identity.listener.to_string()),
            Fact::Tool(_) => identity.tool.as_deref().map(text),
            Fact::Attr(key, _) => identity.attrs.get(key).map(text),
            Fact::Tag(key, _) => identity.tags.get(key).map(text),
            Fact::QueryAttr(key, _) => identity.query_attrs.get(key).map(text),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Fact::Scope(patterns) => patterns.iter().all(|pattern| *pattern == Pattern::Nobody),
            Fact::Address(networks) => networks.is_empty(),
            Fact::User(texts)
            | Fact::Listener(texts)
            | Fact::Tool(texts)
            | Fact::Attr(_, texts)
            | Fact::Tag(_, texts)
            | Fact::QueryAttr(_, texts) => texts.0.is_empty(),
        }
    }
}

/// In order, so that a long list is searched quickly.
#[derive(Debug)]
pub(crate) struct Texts(Box<[Box<[u8]>]>);

impl Texts {
    pub(crate) fn new(values: &[Value]) -> Texts {
        let text = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let mut texts: Vec<Box<[u8]>> = values.iter().filter_map(text).collect();
        texts.sort_unstable();
        texts.dedup();
        Texts(texts.into())
    }

    pub(crate) fn contain(&self, text: &[u8]) -> bool {
        self.0.binary_search_by(|known| known.as_ref().cmp(text)).is_ok()
    }

    pub(crate) fn contain_ignoring_case(&self, text: &[u8]) -> bool {
        self.0.iter().any(|known| known.eq_ignore_ascii_case(text))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Box::as_ref)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn patterns(values: &[Value]) -> Box<[Pattern]> {
    let pattern = |value: &Value| match value {
        Value::Scope(scope) => Some(Pattern::new(&scope.text)),
        _ => None,
    };
    values.iter().filter_map(pattern).collect()
}

fn networks(values: &[Value]) -> Box<[IpNet]> {
    let network = |value: &Value| match value {
        Value::Network(network) => Some(network.trunc()),
        _ => None,
    };
    let mut networks: Vec<IpNet> = values.iter().filter_map(network).collect();
    networks.sort_unstable_by_key(|network| std::cmp::Reverse(network.prefix_len()));
    networks.into()
}

fn network_fit(network: &IpNet) -> Fit {
    if network.prefix_len() == network.max_prefix_len() { Fit::Exact } else { Fit::Network(network.prefix_len()) }
}
