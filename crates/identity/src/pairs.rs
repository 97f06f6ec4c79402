//! Keys and values of one source, each key once.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Pairs {
    /// In the order of the keys. Shared: the attributes of a connection are those of all its queries.
    pairs: Arc<[Pair]>,
}

type Pair = (Box<[u8]>, Box<[u8]>);

impl Pairs {
    /// Of a key that is given twice with different values neither counts; the second value is how many such keys
    /// there were.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> (Pairs, usize) {
        let mut sorted: Vec<(&[u8], &[u8])> = pairs.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut kept = Vec::with_capacity(sorted.len());
        let mut conflicts = 0;
        for group in sorted.chunk_by(|one, other| one.0 == other.0) {
            match group {
                [(key, value)] => kept.push(((*key).into(), (*value).into())),
                _ => conflicts += 1,
            }
        }
        (Pairs { pairs: kept.into() }, conflicts)
    }

    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let found = self.pairs.binary_search_by(|(known, _)| known.as_ref().cmp(key)).ok()?;
        self.pairs.get(found).map(|(_, value)| value.as_ref())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_values_neither_counts() {
        let given: [(&[u8], &[u8]); 4] = [(b"b", b"1"), (b"a", b"1"), (b"b", b"2"), (b"a", b"1")];
        let (pairs, conflicts) = Pairs::new(given);
        assert_eq!(pairs.get(b"a"), Some(&b"1"[..]));
        assert_eq!(pairs.get(b"b"), None);
        assert_eq!(conflicts, 1);
    }
}
