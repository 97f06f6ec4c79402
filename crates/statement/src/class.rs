//! What a statement is, from mild to strict.

use std::fmt;
use std::str::FromStr;

/// The class of a statement or, of a text with several, the strictest of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// COMMIT, ROLLBACK, SET, USE, SHOW, KILL …: never delayed, never rejected.
    Control,
    Read,
    /// Also SELECT … FOR UPDATE and FOR SHARE, and whatever takes a lock.
    Write,
    /// CALL, and statements with a function that is not the server's own: what they do is not in their text.
    Call,
    /// What nobody here could read.
    Unparsed,
    Ddl,
}

impl Class {
    pub const ALL: [Class; 6] = [Class::Control, Class::Read, Class::Write, Class::Call, Class::Unparsed, Class::Ddl];

    /// `read` < `write` = `call` = `unparsed` < `ddl`.
    pub fn strictness(self) -> u8 {
        match self {
            Class::Control => 0,
            Class::Read => 1,
            Class::Write | Class::Call | Class::Unparsed => 2,
            Class::Ddl => 3,
        }
    }

    /// The stricter of two; of equal ones the one that says less of what it does.
    pub fn or_stricter(self, other: Class) -> Class {
        let rank = |class: Class| (class.strictness(), class as u8);
        if rank(other) > rank(self) { other } else { self }
    }

    /// Whether it may take row locks or change something.
    pub fn locks_or_writes(self) -> bool {
        self.strictness() >= Class::Write.strictness()
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Class::Control => "control",
            Class::Read => "read",
            Class::Write => "write",
            Class::Call => "call",
            Class::Unparsed => "unparsed",
            Class::Ddl => "ddl",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No class has this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownClass;

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Class, UnknownClass> {
        Class::ALL.into_iter().find(|class| class.as_str() == text).ok_or(UnknownClass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stricter_stands() {
        for (one, other, stricter) in [
            (Class::Control, Class::Read, Class::Read),
            (Class::Read, Class::Write, Class::Write),
            (Class::Write, Class::Call, Class::Call),
            (Class::Call, Class::Unparsed, Class::Unparsed),
            (Class::Unparsed, Class::Ddl, Class::Ddl),
            (Class::Ddl, Class::Ddl, Class::Ddl),
        ] {
            assert_eq!(one.or_stricter(other), stricter);
            assert_eq!(other.or_stricter(one), stricter);
        }
    }

    #[test]
    fn names_are_read_back() {
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        assert_eq!("delete".parse::<Class>(), Err(UnknownClass));
    }
}
