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

/// A set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Classes(u8);

impl Classes {
    pub const NONE: Classes = Classes(0);

    /// Every class that is ever delayed: what a text may be of which nothing is known.
    pub const ANY: Classes = Classes(0b111_1110);

    /// Beside `Call`: the body of what is called is not known, so that it may read and define.
    const OPAQUE_CALL: u8 = 1 << 6;

    /// A call is one of a body that is not known.
    pub const fn of(class: Class) -> Classes {
        let opaque = if matches!(class, Class::Call) { Classes::OPAQUE_CALL } else { 0 };
        Classes(1 << class as u8 | opaque)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn insert(&mut self, class: Class) {
        self.0 |= Classes::of(class).0;
    }

    /// With `Call` where a call of an unknown body is among these.
    #[must_use]
    pub const fn including_calls(self) -> Classes {
        if self.0 & Classes::OPAQUE_CALL != 0 { self.union(Classes::of(Class::Call)) } else { self }
    }

    /// The bodies of all calls are known, and what they do is among these.
    #[must_use]
    pub fn with_known_calls(self) -> Classes {
        Classes(self.0 & !Classes::OPAQUE_CALL)
    }

    pub fn contains(self, class: Class) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    pub fn intersects(self, other: Classes) -> bool {
        self.0 & other.0 != 0
    }

    pub fn is_within(self, other: Classes) -> bool {
        self.0 & !other.0 & !Classes::OPAQUE_CALL == 0
    }

    #[must_use]
    pub const fn union(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, class: Class) -> Classes {
        Classes(self.0 & !Classes::of(class).0)
    }

    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.into_iter().filter(move |class| self.contains(*class))
    }

    /// The classes of statements that may be one of these: an unknown text may be any of them, and a routine may do what any of
    /// them does. A restricting rule or gate on these classes applies to all of the result.
    #[must_use]
    pub const fn with_possible(self) -> Classes {
        let writes = if self.0 & Classes::of(Class::Write).0 != 0 { Classes::of(Class::Call).0 } else { 0 };
        let in_routines = Classes::of(Class::Read).0 | Classes::of(Class::Ddl).0;
        let call = writes | if self.0 & in_routines != 0 { Classes::OPAQUE_CALL } else { 0 };
        let unparsed = if self.0 & Classes::ANY.0 != 0 { Classes::of(Class::Unparsed).0 } else { 0 };
        Classes(self.0 | call | unparsed)
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<T: IntoIterator<Item = Class>>(classes: T) -> Self {
        let mut all = Classes::NONE;
        classes.into_iter().for_each(|class| all.insert(class));
        all
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
    fn rule_classes_include_statements_that_may_be_one() {
        use Class::{Call, Control, Ddl, Read, Unparsed, Write};
        for (named, possible) in [
            (&[Write][..], &[Write, Call, Unparsed][..]),
            (&[Ddl], &[Unparsed, Ddl]),
            (&[Read], &[Read, Unparsed]),
            (&[Call], &[Call, Unparsed]),
            (&[Unparsed], &[Unparsed]),
            (&[Control], &[Control]),
        ] {
            let named: Classes = named.iter().copied().collect();
            assert_eq!(named.with_possible().iter().collect::<Vec<_>>(), possible);
        }
        // Where the body of a call is not known, it may read and define too.
        let call = Classes::of(Call);
        for class in [Read, Write, Ddl] {
            assert!(Classes::of(class).with_possible().intersects(call), "{class}");
            let known = Classes::of(class).with_possible().intersects(call.with_known_calls());
            assert_eq!(known, class == Write, "{class}");
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
