//! Texts that are printed in logs, errors and lists: one line, not too long.

use serde::de::{Deserialize, Deserializer};

use super::read_text;
use crate::tree::Complaint;

/// One line of at most `MAX` characters.
#[derive(Debug, Clone)]
pub(crate) struct Line<const MAX: usize>(pub(crate) String);

impl<const MAX: usize> Line<MAX> {
    fn parse(text: &str) -> Result<Self, Complaint> {
        let remedy = format!("write one line of at most {MAX} characters");
        match text.chars().count() {
            0 => Err(Complaint::new("the text is empty", format!("{remedy}, or take the key out"))),
            long if long > MAX => Err(Complaint::new(format!("the text has {long} characters"), remedy)),
            _ if text.chars().any(char::is_control) => Err(Complaint::new("the text has more than one line", remedy)),
            _ => Ok(Line(text.to_owned())),
        }
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Line<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a text (a number in quotes)", Self::parse)
    }
}

/// The name of a rule, a playbook or an incident. It stands in errors, metrics and addresses, so it has no spaces.
#[derive(Debug, Clone)]
pub(crate) struct Id(pub(crate) String);

impl Id {
    const MAX: usize = 100;

    pub(crate) fn parse(text: &str) -> Result<Self, Complaint> {
        let remedy = "write letters, digits and any of `- _ . : @`, such as `batch-yields`";
        let allowed = |c: char| c.is_alphanumeric() || "-_.:@".contains(c);
        match text.chars().count() {
            0 => Err(Complaint::new("the name is empty", remedy)),
            long if long > Self::MAX => {
                Err(Complaint::new(format!("the name has {long} characters"), format!("write at most {}", Self::MAX)))
            }
            _ => match text.chars().find(|c| !allowed(*c)) {
                Some(other) => Err(Complaint::new(format!("a name has no {}", shown(other)), remedy)),
                None => Ok(Id(text.to_owned())),
            },
        }
    }
}

fn shown(c: char) -> String {
    match c {
        ' ' => "spaces".to_owned(),
        c if c.is_control() || c.is_whitespace() => format!("{c:?}"),
        c => format!("`{c}`"),
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a name, such as `batch-yields` (a number in quotes)", Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::Id;

    #[test]
    fn names_are_safe_to_print() {
        for (text, good) in [
            ("batch-yields-INC-42", true),
            ("été", true),
            ("a:b@c.d_e", true),
            ("", false),
            ("a b", false),
            ("a/b", false),
            ("a\nb", false),
            ("a\"b", false),
            ("`", false),
        ] {
            assert_eq!(Id::parse(text).is_ok(), good, "{text:?}");
        }
        assert!(Id::parse(&"a".repeat(100)).is_ok() && Id::parse(&"a".repeat(101)).is_err());
    }
}
