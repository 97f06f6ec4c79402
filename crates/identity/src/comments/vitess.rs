//! `/*vt+ PRIORITY=50 WORKLOAD_NAME=billing */`: Vitess' directives, of which two say who asks.

use super::cursor::Cursor;
use super::{Form, Pair};

pub(super) const PREAMBLE: &[u8] = b"vt+";

/// `None` at the end of the comment.
pub(super) fn next(cursor: &mut Cursor<'_>) -> Option<Pair> {
    loop {
        cursor.skip_while(|byte| byte.is_ascii_whitespace());
        let word = cursor.rest();
        cursor.peek()?;
        let key = cursor.run(|byte| byte.is_ascii_graphic() && byte != b'=');
        let name = word.get(..usize::from(key.end.saturating_sub(key.start))).unwrap_or_default();
        let form = if name.eq_ignore_ascii_case(b"WORKLOAD_NAME") {
            Some(Form::VitessWorkload)
        } else if name.eq_ignore_ascii_case(b"PRIORITY") {
            Some(Form::VitessPriority)
        } else {
            None
        };
        let has_value = cursor.take(b'=');
        let quoted = cursor.take(b'"');
        let value = cursor.run(|byte| !(byte.is_ascii_whitespace() || quoted && byte == b'"'));
        cursor.skip_while(|byte| !byte.is_ascii_whitespace());
        if let (Some(form), true) = (form, has_value) {
            return Some(Pair { form, key, value });
        }
    }
}
