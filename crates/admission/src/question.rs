//! What is asked, as rules may ask about it. Fingerprint and tables are found when a rule wants them, and not before.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use identity::Said;
use rules::{Query, Tables};
use statement::{Class, Fingerprint, Mode, Outcome, ParseCache, Parsed, Scan, Shapes};
use wire::Parameters;

/// A text that is still in its packet.
#[derive(Debug)]
pub(crate) struct TextQuestion<'a> {
    pub(crate) class: Class,
    pub(crate) shapes: Shapes,
    pub(crate) schema: Option<&'a [u8]>,
    pub(crate) sql: &'a [u8],
    pub(crate) mode: Mode,
    pub(crate) cache: &'a ParseCache,
    pub(crate) fingerprint: OnceCell<Fingerprint>,
    pub(crate) parsed: OnceCell<Arc<Parsed>>,
}

impl TextQuestion<'_> {
    pub(crate) fn parsed(&self) -> &Arc<Parsed> {
        self.parsed.get_or_init(|| self.cache.get_or_parse(self.fingerprint(), self.sql, self.mode))
    }
}

impl Query for TextQuestion<'_> {
    fn schema(&self) -> Option<&[u8]> {
        self.schema
    }

    fn class(&self) -> Class {
        self.class
    }

    fn shapes(&self) -> Shapes {
        self.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| statement::fingerprint(self.sql, self.mode))
    }

    fn tables(&self) -> Tables<'_> {
        tables(self.parsed())
    }

    /// Nothing but rules holds anything yet.
    fn exemption_matters(&self) -> bool {
        false
    }
}

/// A question that outlives its packet: a prepared statement's, or one that is held.
#[derive(Debug, Clone)]
pub(crate) struct KnownQuestion {
    pub(crate) class: Class,
    pub(crate) shapes: Shapes,
    pub(crate) schema: Option<Box<[u8]>>,
    /// `None`: of a text that nobody saw.
    pub(crate) known: Option<(Fingerprint, Arc<Parsed>)>,
}

impl KnownQuestion {
    pub(crate) fn of(question: &TextQuestion<'_>) -> KnownQuestion {
        KnownQuestion {
            class: question.class,
            shapes: question.shapes,
            schema: question.schema.map(Box::from),
            known: Some((question.fingerprint(), Arc::clone(question.parsed()))),
        }
    }
}

impl Query for KnownQuestion {
    fn schema(&self) -> Option<&[u8]> {
        self.schema.as_deref()
    }

    fn class(&self) -> Class {
        self.class
    }

    fn shapes(&self) -> Shapes {
        self.shapes
    }

    fn fingerprint(&self) -> Fingerprint {
        // No text has this one.
        self.known.as_ref().map_or(Fingerprint(0), |(fingerprint, _)| *fingerprint)
    }

    fn tables(&self) -> Tables<'_> {
        self.known.as_ref().map_or(Tables::Unknown, |(_, parsed)| tables(parsed))
    }

    fn exemption_matters(&self) -> bool {
        false
    }
}

fn tables(parsed: &Parsed) -> Tables<'_> {
    match parsed.outcome {
        Outcome::Read => Tables::Known(&parsed.tables),
        Outcome::Failed => Tables::Unknown,
    }
}

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

/// Query attributes as text. NULL is none; what is neither text nor a whole number is left out.
pub(crate) fn attributes<'a>(attributes: Option<(Parameters<'a>, usize)>) -> Vec<(&'a [u8], Cow<'a, [u8]>)> {
    let Some((parameters, before)) = attributes else { return Vec::new() };
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
