//! Short words as numbers, so that one comparison tells them apart.

/// The number of a word of two to eight bytes, its letters in lower case. What else is in it changes too, but into nothing that
/// is a letter: so a word is another, which has letters only, in any case, exactly if their numbers are the same.
#[inline(always)]
pub(crate) const fn packed(word: &[u8]) -> Option<u64> {
    let length = word.len();
    // The first bytes and the last, which overlap where there are fewer than twice as many.
    let bytes = match (word.first_chunk(), word.last_chunk(), word.first_chunk(), word.last_chunk()) {
        (Some(first), Some(last), ..) if length <= 8 => {
            u32::from_le_bytes(*first) as u64 | (u32::from_le_bytes(*last) as u64) << (8 * (length - 4))
        }
        (_, _, Some(first), Some(last)) if length <= 3 => {
            u16::from_le_bytes(*first) as u64 | (u16::from_le_bytes(*last) as u64) << (8 * (length - 2))
        }
        _ => return None,
    };
    Some(bytes | 0x2020_2020_2020_2020 >> (64 - 8 * length))
}

/// Of a keyword, written in letters.
pub(crate) const fn number(keyword: &str) -> u64 {
    let bytes = keyword.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        assert!(bytes[at].is_ascii_alphabetic());
        at += 1;
    }
    match packed(bytes) {
        Some(number) => number,
        None => panic!("it is too short or too long"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_case_of_letters_is_lost() {
        let words = ["xa", "for", "kill", "flush", "commit", "replace", "rollback"];
        for word in words {
            for at in 0..word.len() {
                for byte in 0..=u8::MAX {
                    let mut other = word.as_bytes().to_vec();
                    other[at] = byte;
                    let same = other.eq_ignore_ascii_case(word.as_bytes());
                    assert_eq!(packed(&other) == Some(number(word)), same, "{other:?}");
                }
            }
            for extra in 0..=u8::MAX {
                assert_ne!(packed(&[word.as_bytes(), &[extra]].concat()), Some(number(word)), "{word} {extra}");
            }
            assert_ne!(packed(&word.as_bytes()[1..]), Some(number(word)));
        }
        for (word, number) in [("", None), ("a", None), ("ab", Some(0x6261)), ("ABCDEFGHI", None)] {
            assert_eq!(packed(word.as_bytes()), number, "{word}");
        }
    }
}
