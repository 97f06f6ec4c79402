//! Tags and tools in the comments of a query.
//!
//! A comment is read whole or not at all: one that is not of a known format to its end is prose.

mod cursor;
mod escapes;
mod marginalia;
mod sqlcommenter;
mod vitess;
mod walk;

use std::ops::Range;

pub(crate) use cursor::Span;
pub(crate) use escapes::{Place, unescape, unescape_into};

use crate::limits;
use crate::said::{Said, Source, Texts};
use crate::tool;
use cursor::Cursor;
use walk::Comments;

/// How a pair is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Form {
    #[default]
    Plain,
    /// Key and value have sqlcommenter's escapes.
    Escaped,
    VitessWorkload,
    VitessPriority,
}

/// Spans are of the text that the comment stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pair {
    pub(crate) form: Form,
    pub(crate) key: Span,
    pub(crate) value: Span,
}

/// It says nothing of who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prose;

/// `leading` and `trailing` are what stands before and after the tokens of a text: white space, `;` and comments. `infix`
/// is the inside of a comment between them; tools and Vitess write into it, and nothing else is looked for in there.
///
/// Takes time in proportion to the text, and allocates nothing.
#[inline]
pub fn read_comments<'a>(leading: &'a [u8], trailing: &'a [u8], infix: Option<&'a [u8]>) -> Said<'a> {
    let has_comment = |text: &[u8]| text.contains(&b'/');
    if infix.is_none() && !has_comment(leading) && !has_comment(trailing) {
        return Said::new(Texts::default());
    }
    read_some(leading, trailing, infix)
}

#[inline(never)]
fn read_some<'a>(leading: &'a [u8], trailing: &'a [u8], infix: Option<&'a [u8]>) -> Said<'a> {
    // What is looked at: the first bytes, the last bytes, and one comment that is not too long.
    let head = leading.get(..limits::REGION).unwrap_or(leading);
    let tail_start = trailing.len().saturating_sub(limits::REGION);
    let tail = trailing.get(tail_start..).unwrap_or_default();
    let infix = infix.filter(|infix| infix.len() <= limits::REGION).unwrap_or_default();

    let mut said = Said::new(Texts { leading: head, infix, trailing: tail });
    if !head.is_empty() {
        Comments::new(head).for_each(|inside| end_comment(&mut said, Source::Leading, head, inside));
    }
    if !infix.is_empty() {
        infix_comment(&mut said, infix);
    }
    // Walked from its start, since only from there it is known what is a comment.
    if !tail.is_empty() {
        for inside in Comments::new(trailing) {
            if let Some(start) = inside.start.checked_sub(tail_start) {
                end_comment(&mut said, Source::Trailing, tail, start..inside.end - tail_start);
            }
        }
    }
    said
}

fn end_comment(said: &mut Said<'_>, source: Source, text: &[u8], inside: Range<usize>) {
    let (text, start) = trimmed(text, inside);
    let body = text.get(start..).unwrap_or_default();
    if tool_or_directives(said, source, text, start) {
        return;
    }
    let key = body.iter().position(|&byte| !(limits::is_key_byte(byte) || byte == b'%')).unwrap_or(body.len());
    let next = match body.get(key) {
        Some(b'=') => sqlcommenter::next,
        Some(b':') => marginalia::next,
        Some(_) | None => return,
    };
    let before = said.mark();
    let mut cursor = Cursor::new(text, start);
    loop {
        match next(&mut cursor) {
            Ok(Some(pair)) => said.push(source, pair),
            Ok(None) => return,
            Err(Prose) => return said.back_to(before),
        }
    }
}

fn infix_comment(said: &mut Said<'_>, infix: &[u8]) {
    let (text, start) = trimmed(infix, 0..infix.len());
    tool_or_directives(said, Source::Infix, text, start);
}

/// Whether it was one of them.
fn tool_or_directives(said: &mut Said<'_>, source: Source, text: &[u8], start: usize) -> bool {
    let body = text.get(start..).unwrap_or_default();
    if let Some(tool) = tool::of_comment(body) {
        said.push_tool(tool);
        return true;
    }
    let Some([space, ..]) = body.strip_prefix(vitess::PREAMBLE) else { return false };
    if !space.is_ascii_whitespace() {
        return false;
    }
    let mut cursor = Cursor::new(text, start + vitess::PREAMBLE.len());
    while let Some(pair) = vitess::next(&mut cursor) {
        said.push(source, pair);
    }
    true
}

/// The text up to the last byte of the comment that is not white space, and where its first one is.
fn trimmed(text: &[u8], inside: Range<usize>) -> (&[u8], usize) {
    let text = text.get(..inside.end).unwrap_or_default();
    let comment = text.get(inside.start..).unwrap_or_default();
    let leading = comment.len() - comment.trim_ascii_start().len();
    let trailing = comment.len() - comment.trim_ascii_end().len();
    let end = text.len().saturating_sub(trailing);
    (text.get(..end).unwrap_or_default(), (inside.start + leading).min(end))
}

#[cfg(test)]
mod tests;
