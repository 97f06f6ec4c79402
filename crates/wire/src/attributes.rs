//! Connection attributes: pairs of length-encoded strings that a client tells about itself at login.

use crate::{Fields, Malformed, put_lenenc_bytes};

/// Only the proxy may say these of a client.
const OWN_PREFIX: &[u8] = b"_tollgate_";

/// A block with the proxy's own attributes in it, and how many of the given ones are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    pub block: Vec<u8>,
    pub dropped: usize,
}

/// The pairs of `block` (without its total length). Ends after the first malformed one.
pub fn iterate(block: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), Malformed>> {
    let mut fields = Fields::new(block);
    std::iter::from_fn(move || {
        if fields.is_empty() {
            return None;
        }
        let pair = pair(&mut fields);
        if pair.is_err() {
            fields.rest();
        }
        Some(pair)
    })
}

/// The proxy's own attributes first: a server keeps only the first bytes of them (512 by default in MySQL). A client's
/// `_tollgate_*`, what would make the block longer than `limit`, and a malformed rest (as one) are dropped.
pub fn with_own(block: &[u8], own: &[(&[u8], &[u8])], limit: usize) -> Rewritten {
    let mut rewritten = Rewritten { block: Vec::new(), dropped: 0 };
    for (key, value) in own {
        rewritten.put(key, value, limit);
    }
    for pair in iterate(block) {
        match pair {
            Ok((key, value)) if !is_own(key) => rewritten.put(key, value, limit),
            Ok(_) | Err(_) => rewritten.dropped += 1,
        }
    }
    rewritten
}

impl Rewritten {
    fn put(&mut self, key: &[u8], value: &[u8], limit: usize) {
        let before = self.block.len();
        put_lenenc_bytes(&mut self.block, key);
        put_lenenc_bytes(&mut self.block, value);
        if self.block.len() > limit {
            self.block.truncate(before);
            self.dropped += 1;
        }
    }
}

fn pair<'a>(fields: &mut Fields<'a>) -> Result<(&'a [u8], &'a [u8]), Malformed> {
    Ok((fields.lenenc_bytes()?, fields.lenenc_bytes()?))
}

fn is_own(key: &[u8]) -> bool {
    key.get(..OWN_PREFIX.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(OWN_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::cut_everywhere;

    fn block(pairs: &[(&[u8], &[u8])]) -> Vec<u8> {
        with_own(b"", pairs, usize::MAX).block
    }

    fn pairs(block: &[u8]) -> Vec<(&[u8], &[u8])> {
        iterate(block).map(Result::unwrap).collect()
    }

    const ADDRESS: (&[u8], &[u8]) = (b"_tollgate_client_address", b"192.0.2.7:5000");

    #[test]
    fn own_attributes_go_first_and_cannot_be_claimed() {
        let client = block(&[
            (b"_pid", b"77"),
            (b"_tollgate_client_address", b"1.1.1.1:1"),
            (b"_TOLLGATE_x", b""),
            (b"_tollgat", b"kept"),
            (b"empty", b""),
        ]);
        let rewritten = with_own(&client, &[ADDRESS], usize::MAX);
        let expected: [(&[u8], &[u8]); 4] = [ADDRESS, (b"_pid", b"77"), (b"_tollgat", b"kept"), (b"empty", b"")];
        assert_eq!(pairs(&rewritten.block), expected);
        assert_eq!(rewritten.dropped, 2);
    }

    #[test]
    fn what_exceeds_the_limit_is_dropped() {
        let long = [b'x'; 300];
        let client = block(&[(b"long", &long), (b"a", b"b")]);
        let limit = block(&[ADDRESS, (b"a", b"b")]).len();
        let rewritten = with_own(&client, &[ADDRESS], limit);
        assert_eq!(pairs(&rewritten.block), [ADDRESS, (b"a", b"b")]);
        assert_eq!(rewritten.dropped, 1);
        assert_eq!(with_own(&client, &[ADDRESS], 0), Rewritten { block: Vec::new(), dropped: 3 });
    }

    #[test]
    fn a_malformed_rest_is_dropped() {
        let client = block(&[(b"a", b"b"), (b"key", b"value")]);
        cut_everywhere(&client, |cut| {
            let rewritten = with_own(cut, &[], usize::MAX);
            let whole = if cut.len() < 4 { 0 } else { 4 };
            assert_eq!(rewritten.block, client[..whole]);
            assert_eq!(rewritten.dropped, usize::from(cut.len() != whole));
        });
        assert_eq!(iterate(&[0xFF, 1, 2, 3]).count(), 1);
    }
}
