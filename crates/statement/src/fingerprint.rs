//! The name of all statements that differ only in their literals.

use std::fmt;
use std::str::FromStr;

/// Printed as 32 hexadecimal digits. The same on every machine and in every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Not 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAFingerprint;

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Fingerprint, NotAFingerprint> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex {
            return Err(NotAFingerprint);
        }
        u128::from_str_radix(text, 16).map(Fingerprint).map_err(|_| NotAFingerprint)
    }
}

/// The same for texts that differ only in literals, white space, comments, the case of keywords, or the length of lists.
pub fn fingerprint(sql: &[u8], mode: crate::Mode) -> Fingerprint {
    let _ = (sql, mode);
    Fingerprint(0)
}

/// The text with its literals as `?`, for people; at most about `limit` bytes.
pub fn normalize(sql: &[u8], mode: crate::Mode, limit: usize) -> String {
    let _ = (sql, mode, limit);
    String::new()
}
