//! One number, out of whatever was answered.

use health::{Reading, Unknown};

/// Integers, floats and decimals, as text.
pub(crate) fn parse(text: &str) -> Reading {
    text.trim().parse::<f64>().map_or(Reading::Unknown(Unknown::NotANumber), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_is_one() {
        let not_a_number = Reading::Unknown(Unknown::NotANumber);
        for (text, reading) in [
            ("42", Reading::Value(42.0)),
            (" 0.50\n", Reading::Value(0.5)),
            ("1e3", Reading::Value(1000.0)),
            ("-1", Reading::Unknown(Unknown::Negative)),
            ("-0", Reading::Value(0.0)),
            ("", not_a_number),
            ("12 apples", not_a_number),
            ("1 2", not_a_number),
            ("0x10", not_a_number),
            ("1,5", not_a_number),
            ("nan", not_a_number),
            ("inf", not_a_number),
            ("1e999", not_a_number),
            ("2024-01-01 00:00:00", not_a_number),
        ] {
            assert_eq!(parse(text), reading, "{text:?}");
        }
    }
}
