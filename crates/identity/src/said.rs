//! What one query says of who asks it.

mod kept;
mod tag;

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

pub use kept::Kept;
pub(crate) use tag::{Source, Tag, Texts};

use crate::comments::Pair;
use crate::limits;
use tag::Use;

/// Borrowed from the packet: nothing is copied before an identity is made of it.
#[derive(Debug, Clone)]
pub struct Said<'a> {
    texts: Texts<'a>,
    /// `None` until there is one: to make the array takes longer than to see that a query has no comments.
    tags: Option<[Tag; limits::PAIRS]>,
    count: usize,
    tool: Tool,
    traceparent: Option<&'a [u8]>,
    /// Within the limits, and no trace among them. Most queries have none: then nothing is allocated.
    attributes: Vec<(&'a [u8], &'a [u8])>,
    excess: Excess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Tool {
    #[default]
    Unknown,
    Known(&'static [u8]),
    /// Comments of two tools.
    Conflict,
}

/// More pairs than there may be. Then none of them counts: whoever could choose which ones do would push others' out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Excess {
    tags: bool,
    attributes: bool,
}

/// All that was said up to some comment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark<'a> {
    count: usize,
    traceparent: Option<&'a [u8]>,
    excess: Excess,
}

impl<'a> Said<'a> {
    /// Nothing that an identity could be made of.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.tool == Tool::Unknown && self.attributes.is_empty() && self.excess == Excess::default()
    }

    /// For the log; never part of an identity.
    pub fn traceparent(&self) -> Option<&'a [u8]> {
        self.traceparent
    }

    /// The attributes of this query: names with their values as text. A trace among them is the query's.
    pub fn with_query_attributes(mut self, attributes: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Said<'a> {
        for (key, value) in attributes {
            match key {
                b"traceparent" if tag::is_trace(value) => self.traceparent = Some(value),
                b"traceparent" | b"tracestate" => {}
                _ if !limits::is_key(key) || !limits::is_value(value) => {}
                _ if self.attributes.len() < limits::PAIRS => self.attributes.push((key, value)),
                _ => {
                    self.excess.attributes = true;
                    self.attributes.clear();
                    break;
                }
            }
        }
        self
    }

    /// Leaves out the tags and query attributes that nobody looks at, such as a `request_id` that is new with every
    /// query, so that the same is said again and again. Names look at some ([`crate::Settings::reads_tag`]), rules at
    /// others; a query attribute that may win over a tag that is looked at must stay, too.
    pub fn retain(&mut self, is_used_tag: impl Fn(&[u8]) -> bool, is_used_attribute: impl Fn(&[u8]) -> bool) {
        let (count, texts) = (std::mem::take(&mut self.count), self.texts);
        for tag in self.tags.into_iter().flatten().take(count).filter(|tag| is_used_tag(&tag.key(&texts))) {
            self.put(tag);
        }
        self.attributes.retain(|(key, _)| is_used_attribute(key));
    }

    /// The same for all who say the same, in the same words, of who asks; a trace is no part of it. For the identities
    /// of one session: should two keys collide, both are claims of one client.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for tag in self.read() {
            (tag.form, tag.raw_key(&self.texts), tag.raw_value(&self.texts)).hash(&mut hasher);
        }
        (self.tool, self.excess, &self.attributes).hash(&mut hasher);
        hasher.finish()
    }

    /// To keep it with a prepared statement.
    pub fn to_owned(&self) -> Kept {
        Kept::new(self)
    }

    /// With their escapes undone, in the order in which they were read. A key may come twice.
    pub fn tags(&self) -> impl Iterator<Item = (Cow<'a, [u8]>, Cow<'a, [u8]>)> {
        self.read().iter().map(|tag| (tag.key(&self.texts), tag.value(&self.texts)))
    }

    pub fn query_attributes(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.attributes.iter().copied()
    }

    pub fn tool(&self) -> Option<&'static [u8]> {
        match self.tool {
            Tool::Known(tool) => Some(tool),
            Tool::Unknown | Tool::Conflict => None,
        }
    }

    /// How much of it does not count, apart from keys with several values.
    pub(crate) fn conflicts(&self) -> u32 {
        let conflicts = [self.tool == Tool::Conflict, self.excess.tags, self.excess.attributes];
        conflicts.into_iter().map(u32::from).sum()
    }

    pub(crate) fn new(texts: Texts<'a>) -> Said<'a> {
        Said {
            texts,
            tags: None,
            count: 0,
            tool: Tool::Unknown,
            traceparent: None,
            attributes: Vec::new(),
            excess: Excess::default(),
        }
    }

    pub(crate) fn push(&mut self, source: Source, pair: Pair) {
        let tag = Tag::new(source, pair);
        match tag.check(&self.texts) {
            Use::Tag => self.put(tag),
            Use::Trace => {
                let trace = Some(tag.raw_value(&self.texts)).filter(|value| tag::is_trace(value));
                self.traceparent = trace.or(self.traceparent);
            }
            Use::Nothing => {}
        }
    }

    fn put(&mut self, tag: Tag) {
        let tags = self.tags.get_or_insert_with(|| [Tag::default(); limits::PAIRS]);
        match tags.get_mut(self.count) {
            _ if self.excess.tags => {}
            Some(place) => {
                *place = tag;
                self.count += 1;
            }
            None => {
                self.excess.tags = true;
                self.count = 0;
            }
        }
    }

    pub(crate) fn push_tool(&mut self, tool: &'static [u8]) {
        self.tool = match self.tool {
            Tool::Unknown => Tool::Known(tool),
            Tool::Known(known) if known == tool => Tool::Known(tool),
            Tool::Known(_) | Tool::Conflict => Tool::Conflict,
        };
    }

    pub(crate) fn mark(&self) -> Mark<'a> {
        Mark { count: self.count, traceparent: self.traceparent, excess: self.excess }
    }

    /// Nothing since then was said. The tags of that time are still in their places: later ones only came behind them.
    pub(crate) fn back_to(&mut self, mark: Mark<'a>) {
        let Mark { count, traceparent, excess } = mark;
        (self.count, self.traceparent, self.excess) = (count, traceparent, excess);
    }

    fn read(&self) -> &[Tag] {
        self.tags.as_ref().and_then(|tags| tags.get(..self.count)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
