//! `key='value',key='value'`, keys and values URL-encoded: sqlcommenter, of which every library has its own reading.
//! Also the unquoted `key=value, key=value` of Hasura, and the bare numbers that Python writes among the quoted.
//!
//! <https://google.github.io/sqlcommenter/spec/>

use memchr::memchr;

use super::cursor::{Cursor, Span};
use super::escapes::{Place, is_escaped};
use super::{Form, Pair, Prose};
use crate::limits::is_key_byte;

/// `None` at the end of the comment.
pub(super) fn next(cursor: &mut Cursor<'_>) -> Result<Option<Pair>, Prose> {
    cursor.skip_while(|byte| byte.is_ascii_whitespace() || byte == b',');
    if cursor.peek().is_none() {
        return Ok(None);
    }
    let (key, key_form) = key(cursor);
    if !cursor.take(b'=') {
        return Err(Prose);
    }
    let (value, value_form) = if cursor.take(b'\'') {
        quoted(cursor).ok_or(Prose)?
    } else {
        (cursor.run(|byte| byte != b',' && byte != b'\'' && byte.is_ascii_graphic()), Form::Plain)
    };
    let form = if key_form == Form::Escaped { key_form } else { value_form };
    cursor.skip_while(|byte| byte.is_ascii_whitespace());
    match cursor.peek() {
        None | Some(b',') => Ok(Some(Pair { form, key, value })),
        Some(_) => Err(Prose),
    }
}

fn key(cursor: &mut Cursor<'_>) -> (Span, Form) {
    let plain = cursor.run(is_key_byte);
    if cursor.peek() != Some(b'%') {
        return (plain, Form::Plain);
    }
    let rest = cursor.run(|byte| is_key_byte(byte) || byte == b'%');
    (Span { start: plain.start, end: rest.end }, Form::Escaped)
}

/// JavaScript leaves quotes in its values as they are: the value ends at the one behind which a comma or the end of the
/// comment comes. (A comma inside a value is always encoded.)
fn quoted(cursor: &mut Cursor<'_>) -> Option<(Span, Form)> {
    let text = cursor.rest();
    let mut end = 0;
    loop {
        end += memchr(b'\'', text.get(end..)?)?;
        let (value, rest) = text.split_at_checked(end)?;
        if !value.ends_with(b"\\") && ends_pair(rest.get(1..).unwrap_or_default()) {
            let form = if is_escaped(value, Place::Value) { Form::Escaped } else { Form::Plain };
            let value = cursor.take_first(end);
            cursor.skip(1);
            return Some((value, form));
        }
        end += 1;
    }
}

fn ends_pair(rest: &[u8]) -> bool {
    rest.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|&byte| byte == b',')
}
