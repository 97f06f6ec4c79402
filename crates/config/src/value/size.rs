//! `64KiB`, `1MiB`.

use serde::de::{Deserialize, Deserializer};

use super::read_measure;
use crate::tree::Complaint;

/// A number of bytes from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size<const MIN: usize, const MAX: usize>(pub(crate) usize);

impl<const MIN: usize, const MAX: usize> Size<MIN, MAX> {
    fn parse(text: &str) -> Result<Self, Complaint> {
        let Some(bytes) = bytes(text) else {
            return Err(Complaint::new(format!("`{text}` is not a size"), remedy(text)));
        };
        let fits = format!("write a size from `{}` to `{}`", shown(MIN), shown(MAX));
        match bytes {
            small if small < MIN => Err(Complaint::new(format!("`{text}` is too small"), fits)),
            large if large > MAX => Err(Complaint::new(format!("`{text}` is too large"), fits)),
            bytes => Ok(Size(bytes)),
        }
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Size<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_measure(deserializer, "a size with its unit, such as `64KiB` or `1MiB`", Self::parse)
    }
}

const UNITS: [(&str, usize); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn bytes(text: &str) -> Option<usize> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<usize>().ok()?.checked_mul(*size)
}

fn remedy(text: &str) -> String {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let near = match unit.trim().to_ascii_lowercase().as_str() {
        "k" | "kb" | "ki" | "kib" => Some("KiB"),
        "m" | "mb" | "mi" | "mib" => Some("MiB"),
        "" | "b" => Some("B"),
        _ => None,
    };
    match near {
        Some(unit) if !number.is_empty() => format!("write `{number}{unit}`"),
        _ => "write a whole number with `B`, `KiB` or `MiB`, such as `64KiB`".to_owned(),
    }
}

fn shown(bytes: usize) -> String {
    let whole = UNITS.iter().find(|(_, size)| bytes >= *size && bytes.is_multiple_of(*size));
    whole.map_or_else(|| format!("{bytes}B"), |(unit, size)| format!("{}{unit}", bytes / size))
}

#[cfg(test)]
mod tests {
    use super::{bytes, shown};

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("64KiB", Some(65536)),
            ("1MiB", Some(1 << 20)),
            ("512B", Some(512)),
            ("0B", Some(0)),
            ("64KB", None),
            ("64", None),
            ("", None),
            ("KiB", None),
            ("1.5MiB", None),
            ("64 KiB", None),
            ("99999999999999999999GiB", None),
        ] {
            assert_eq!(bytes(text), expected, "{text:?}");
        }
        assert_eq!([shown(0), shown(1500), shown(4096), shown(1 << 20)], ["0B", "1500B", "4KiB", "1MiB"]);
    }
}
