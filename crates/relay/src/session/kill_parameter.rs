//! `KILL ?`: the id comes as the one value of a COM_STMT_EXECUTE.
//!
//! Its type may have been sent with an earlier execution, but is not needed: only a value that reads as one of our living
//! ids is replaced, and in no other type could the same bytes be one.

/// The value with the id that `lookup` knows in its place, and the client's id. `None`: there is nothing to replace.
pub(crate) fn translated(value: &[u8], lookup: impl Fn(u32) -> Option<u32>) -> Option<(Vec<u8>, u32)> {
    // Modulo 2³², as in a KILL's text.
    if let Some((low, high)) =
        value.split_first_chunk().filter(|(_, high)| matches!(high, [] | [0, 0, 0, 0] | [0xFF, 0xFF, 0xFF, 0xFF]))
    {
        let id = u32::from_le_bytes(*low);
        if let Some(upstream) = lookup(id) {
            return Some(([&upstream.to_le_bytes()[..], &vec![0; high.len()]].concat(), id));
        }
    }
    // JavaScript's numbers.
    if let Ok(bytes) = value.try_into() {
        let id = f64::from_le_bytes(bytes) as u32;
        return lookup(id).map(|upstream| (f64::from(upstream).to_le_bytes().to_vec(), id));
    }
    // A string with its length in front.
    let (&length, digits) = value.split_first()?;
    let text = std::str::from_utf8(digits).ok().filter(|_| usize::from(length) == digits.len())?;
    let id = text.parse().ok()?;
    let upstream = lookup(id)?.to_string();
    Some(([&[upstream.len() as u8], upstream.as_bytes()].concat(), id))
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn ids_as_drivers_send_them() {
        const OURS: u32 = 0xFEDC_BA98;
        let lookup = |id| (id == OURS).then_some(7);
        let signed = i64::from(OURS.cast_signed());
        for (name, value, expected) in [
            ("a 64-bit integer", u64::from(OURS).to_le_bytes().to_vec(), 7u64.to_le_bytes().to_vec()),
            ("a negative one", signed.to_le_bytes().to_vec(), 7u64.to_le_bytes().to_vec()),
            ("a 32-bit integer", OURS.to_le_bytes().to_vec(), 7u32.to_le_bytes().to_vec()),
            ("a double", f64::from(OURS).to_le_bytes().to_vec(), 7f64.to_le_bytes().to_vec()),
            ("a string", b"\x0a4275878552".to_vec(), b"\x017".to_vec()),
        ] {
            assert_eq!(translated(&value, lookup), Some((expected, OURS)), "{name}");
        }
        for other in [&b""[..], b"\x05", b"\x03abc", &8u64.to_le_bytes(), b"\x0b4275878552", b"\xff\xff"] {
            assert_eq!(translated(other, lookup), None, "{other:02x?}");
        }
    }
}
