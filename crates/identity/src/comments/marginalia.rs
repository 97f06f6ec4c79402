//! `application:Shop,controller:orders,action:show`: Marginalia, and Rails' legacy format. Nothing is encoded, so a value
//! may have colons and commas in it, and one that has `,key:` in it makes a pair of its own: a claim like any other.

use memchr::memchr;

use super::cursor::Cursor;
use super::{Form, Pair, Prose};
use crate::limits::is_key_byte;

/// `None` at the end of the comment.
pub(super) fn next(cursor: &mut Cursor<'_>) -> Result<Option<Pair>, Prose> {
    cursor.skip_while(|byte| byte == b',');
    if cursor.peek().is_none() {
        return Ok(None);
    }
    if !starts_pair(cursor.rest()) {
        return Err(Prose);
    }
    let key = cursor.run(is_key_byte);
    cursor.skip(1);
    let rest = cursor.rest();
    let end = value_end(rest);
    // Some write quotes around it, with nothing encoded inside.
    let value = match rest.get(..end) {
        Some([b'\'', inside @ .., b'\'']) => {
            cursor.skip(1);
            let value = cursor.take_first(inside.len());
            cursor.skip(1);
            value
        }
        _ => cursor.take_first(end),
    };
    Ok(Some(Pair { form: Form::Plain, key, value }))
}

/// The first comma behind which another pair starts.
fn value_end(rest: &[u8]) -> usize {
    let mut end = 0;
    while let Some(found) = memchr(b',', rest.get(end..).unwrap_or_default()) {
        end += found;
        if starts_pair(rest.get(end + 1..).unwrap_or_default()) {
            return end;
        }
        end += 1;
    }
    rest.len()
}

/// `note: see below` and `Admin::Users` are no pairs.
fn starts_pair(text: &[u8]) -> bool {
    let key = text.iter().position(|&byte| !is_key_byte(byte)).unwrap_or(text.len());
    match text.get(key..) {
        Some([b':', value, ..]) => key > 0 && !value.is_ascii_whitespace() && *value != b':',
        _ => false,
    }
}
