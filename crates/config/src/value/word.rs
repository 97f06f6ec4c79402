//! One of a few words, for enums of other crates that know no serde.

use std::fmt;
use std::marker::PhantomData;

use rules::{Action, InTransaction, Mode, UnknownTables};
use serde::de::{Deserialize, Deserializer, EnumAccess, Error, VariantAccess, Visitor};

pub(crate) trait Words: Sized + 'static {
    const ALL: &'static [&'static str];

    fn from_word(word: &str) -> Option<Self>;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<T>(pub(crate) T);

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("word", T::ALL, WordVisitor(PhantomData))
    }
}

struct WordVisitor<T>(PhantomData<T>);

impl<'de, T: Words> Visitor<'de> for WordVisitor<T> {
    type Value = Word<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", T::ALL.join(", "))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Word<T>, A::Error> {
        let (word, rest) = access.variant::<String>()?;
        rest.unit_variant()?;
        T::from_word(&word).map(Word).ok_or_else(|| A::Error::unknown_variant(&word, T::ALL))
    }
}

impl Words for Action {
    const ALL: &'static [&'static str] = &["delay", "reject"];

    fn from_word(word: &str) -> Option<Self> {
        Action::named(word)
    }
}

impl Words for Mode {
    const ALL: &'static [&'static str] = &["off", "warn", "enforce"];

    fn from_word(word: &str) -> Option<Self> {
        Mode::named(word)
    }
}

impl Words for InTransaction {
    const ALL: &'static [&'static str] = &["pass", "delay", "reject"];

    fn from_word(word: &str) -> Option<Self> {
        InTransaction::named(word)
    }
}

impl Words for UnknownTables {
    const ALL: &'static [&'static str] = &["ignore", "match"];

    fn from_word(word: &str) -> Option<Self> {
        UnknownTables::named(word)
    }
}
