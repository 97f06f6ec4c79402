//! What a query says of who asks: in its comments, and in its attributes.

use std::borrow::Cow;

use identity::Said;
use statement::Scan;
use wire::Parameters;

/// What the comments of a text say, if it has any.
#[inline]
pub(crate) fn comments<'a>(sql: &'a [u8], scan: &Scan) -> Option<Said<'a>> {
    if scan.leading.is_empty() && scan.trailing.is_empty() && scan.infix.is_none() {
        return None;
    }
    let part = |range: &std::ops::Range<usize>| sql.get(range.clone()).unwrap_or_default();
    let said = identity::read_comments(part(&scan.leading), part(&scan.trailing), scan.infix.as_ref().map(part));
    (!said.is_empty()).then_some(said)
}

/// For a query without comments.
pub(crate) fn nothing<'a>() -> Said<'a> {
    identity::read_comments(b"", b"", None)
}

/// Query attributes as text; `before` of the parameters are the statement's own. NULL is none; what is neither text nor
/// a whole number is left out.
pub(crate) fn attributes<'a>(parameters: Parameters<'a>, before: usize) -> Vec<(&'a [u8], Cow<'a, [u8]>)> {
    let named = parameters.iter().skip(before).filter(|parameter| !parameter.name.is_empty());
    named
        .filter_map(|parameter| {
            let value = parameter.value?;
            let unsigned = parameter.kind.is_unsigned();
            let text = match (parameter.kind.code(), value) {
                (1 | 2 | 3 | 8, bytes) => Cow::Owned(whole_number(bytes, unsigned)?.into_bytes()),
                // VARCHAR, ENUM, SET, the BLOBs and their strings.
                (15 | 247..=254, text) => Cow::Borrowed(text),
                _ => return None,
            };
            Some((parameter.name, text))
        })
        .collect()
}

fn whole_number(little_endian: &[u8], unsigned: bool) -> Option<String> {
    let mut bytes = [0; 8];
    let length = little_endian.len().min(8);
    bytes.get_mut(..length)?.copy_from_slice(little_endian.get(..length)?);
    let number = u64::from_le_bytes(bytes);
    if unsigned {
        return Some(number.to_string());
    }
    let shift = 64 - 8 * u32::try_from(length.max(1)).ok()?;
    // Sign-extended.
    Some(((number << shift).cast_signed() >> shift).to_string())
}

#[cfg(test)]
mod tests {
    use super::whole_number;

    #[test]
    fn numbers_keep_their_sign() {
        for (bytes, unsigned, text) in [
            (&[5][..], false, "5"),
            (&[0xFF], false, "-1"),
            (&[0xFF], true, "255"),
            (&[0xFE, 0xFF], false, "-2"),
            (&[0, 0, 0, 0x80], false, "-2147483648"),
            (&[0xFF; 8], true, "18446744073709551615"),
            (&[0xFF; 8], false, "-1"),
        ] {
            assert_eq!(whole_number(bytes, unsigned).as_deref(), Some(text));
        }
    }
}
