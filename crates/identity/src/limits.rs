//! How much a client may say of itself, and in which characters. What is over a limit is not said.

/// Pairs of one source: the comments of a query, or its attributes.
pub(crate) const PAIRS: usize = 32;
/// Of a connection: drivers send up to a dozen of their own.
pub(crate) const CONNECTION_ATTRIBUTES: usize = 64;
pub(crate) const KEY: usize = 64;
pub(crate) const VALUE: usize = 256;
/// Of comments, at each end of a text.
pub(crate) const REGION: usize = 4096;

/// `db.driver`, `trace-id`, `_client_name`, but nothing that would need quotes where rules are written.
pub(crate) fn is_key(key: &[u8]) -> bool {
    !key.is_empty() && key.len() <= KEY && key.iter().all(|&byte| is_key_byte(byte))
}

pub(crate) fn is_key_byte(byte: u8) -> bool {
    // A look-up: this is asked for every byte of every key.
    const KEY_BYTES: [bool; 256] = {
        let mut fits = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            let character = byte as u8;
            fits[byte] = character.is_ascii_alphanumeric() || matches!(character, b'_' | b'-' | b'.' | b'/' | b'@');
            byte += 1;
        }
        fits
    };
    KEY_BYTES[usize::from(byte)]
}

/// UTF-8 without control characters: values are compared and shown, and Django's routes (`^polls/$`) are as common as
/// plain words. An empty one says nothing.
pub(crate) fn is_value(value: &[u8]) -> bool {
    if value.is_empty() || value.len() > VALUE {
        return false;
    }
    // Without a way out of the loop it takes many bytes at a time.
    let is_plain = value.iter().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    is_plain || is_text(value)
}

fn is_text(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for key in ["a", "_client_name", "db.driver", "trace-id", "a/b@c", "9", &"k".repeat(64)] {
            assert!(is_key(key.as_bytes()), "{key}");
        }
        for key in ["", "a b", "a:b", "a=b", "a'", "é", "a\0", "*", &"k".repeat(65)] {
            assert!(!is_key(key.as_bytes()), "{key}");
        }
    }

    #[test]
    fn values() {
        for value in ["a", "^polls/$", "a, b: 'c'", "müller", "日本", " ", &"v".repeat(256)] {
            assert!(is_value(value.as_bytes()), "{value}");
        }
        for value in ["", "a\nb", "a\0", "\x7F", "é\x1B[0m", "\u{85}", &"v".repeat(257)] {
            assert!(!is_value(value.as_bytes()), "{value}");
        }
        assert!(!is_value(b"\xFF") && !is_value(b"caf\xE9"));
    }
}
