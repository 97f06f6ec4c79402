//! One pair of a comment, by where it stands.

use std::borrow::Cow;

use crate::comments::{Form, Pair, Place, Span, unescape, unescape_into};
use crate::limits;

/// Without a byte of padding, so that an array of them is quickly made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tag {
    source: Source,
    pub(super) form: Form,
    key: Span,
    value: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Source {
    #[default]
    Leading,
    Infix,
    Trailing,
}

/// What the spans of tags are of.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Texts<'a> {
    pub(crate) leading: &'a [u8],
    pub(crate) infix: &'a [u8],
    pub(crate) trailing: &'a [u8],
}

/// What a pair is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Tag,
    Trace,
    /// A trace's vendor data, or over a limit.
    Nothing,
}

impl Tag {
    pub(super) fn new(source: Source, pair: Pair) -> Tag {
        let Pair { form, key, value } = pair;
        Tag { source, form, key, value }
    }

    pub(super) fn raw_key<'a>(&self, texts: &Texts<'a>) -> &'a [u8] {
        self.key.of(texts.of(self.source))
    }

    pub(super) fn raw_value<'a>(&self, texts: &Texts<'a>) -> &'a [u8] {
        self.value.of(texts.of(self.source))
    }

    pub(super) fn key<'a>(&self, texts: &Texts<'a>) -> Cow<'a, [u8]> {
        let raw = self.raw_key(texts);
        match self.form {
            Form::Plain => Cow::Borrowed(raw),
            Form::Escaped => unescape(raw, Place::Key),
            Form::VitessWorkload => Cow::Borrowed(b"workload"),
            Form::VitessPriority => Cow::Borrowed(b"priority"),
        }
    }

    pub(super) fn value<'a>(&self, texts: &Texts<'a>) -> Cow<'a, [u8]> {
        let raw = self.raw_value(texts);
        match self.form {
            Form::Escaped => unescape(raw, Place::Value),
            Form::Plain | Form::VitessWorkload | Form::VitessPriority => Cow::Borrowed(raw),
        }
    }

    pub(super) fn check(&self, texts: &Texts<'_>) -> Use {
        let (key, value) = (self.raw_key(texts), self.raw_value(texts));
        match self.form {
            Form::Plain => use_of(key, value),
            Form::Escaped => {
                // As `key` and `value` would tell, but without an allocation.
                let (mut key_space, mut value_space) = ([0; limits::KEY], [0; limits::VALUE]);
                let key = unescape_into(key, Place::Key, &mut key_space);
                let value = unescape_into(value, Place::Value, &mut value_space);
                key.zip(value).map_or(Use::Nothing, |(key, value)| use_of(key, value))
            }
            Form::VitessWorkload | Form::VitessPriority => use_of(b"vitess", value),
        }
    }
}

fn use_of(key: &[u8], value: &[u8]) -> Use {
    match key {
        b"traceparent" => Use::Trace,
        b"tracestate" => Use::Nothing,
        _ if limits::is_key(key) && limits::is_value(value) => Use::Tag,
        _ => Use::Nothing,
    }
}

impl<'a> Texts<'a> {
    fn of(&self, source: Source) -> &'a [u8] {
        match source {
            Source::Leading => self.leading,
            Source::Infix => self.infix,
            Source::Trailing => self.trailing,
        }
    }
}

/// `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`; later versions may be longer.
pub(super) fn is_trace(value: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_hexdigit() | (*byte == b'-');
    (1..=128).contains(&value.len()) && value.iter().fold(true, |all, byte| all & fits(byte))
}
