//! Whether a name is in a scope.

use identity::Name;

use crate::specificity::Fit;

/// A scope, compiled. A pattern of one part looks for it anywhere in the name; one of several parts is for the whole name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Pattern {
    /// `*`.
    Anybody,
    /// `etl`: any one part.
    Part(Box<str>),
    /// `job-*`: any one part that begins so.
    Prefix(Box<str>),
    /// `job-42:etl:warehouse`.
    Whole(Box<str>),
    /// `*:etl:*`.
    Glob(Box<[Piece]>),
    /// An empty part, or a `*` that is neither a whole part nor the end of one: no name has those.
    Nobody,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Piece {
    /// One or more parts.
    Star,
    Prefix(Box<str>),
    Part(Box<str>),
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Pattern {
        let Some(pieces) = text.split(':').map(Piece::new).collect::<Option<Vec<Piece>>>() else {
            return Pattern::Nobody;
        };
        match <[Piece; 1]>::try_from(pieces) {
            Ok([Piece::Star]) => Pattern::Anybody,
            Ok([Piece::Prefix(prefix)]) => Pattern::Prefix(prefix),
            Ok([Piece::Part(part)]) => Pattern::Part(part),
            Err(pieces) if pieces.iter().all(|piece| matches!(piece, Piece::Part(_))) => Pattern::Whole(text.into()),
            Err(pieces) => Pattern::Glob(pieces.into()),
        }
    }

    pub(crate) fn matches(&self, name: &Name) -> bool {
        match self {
            Pattern::Anybody => true,
            Pattern::Part(wanted) => name.parts().any(|part| part == &**wanted),
            Pattern::Prefix(prefix) => name.parts().any(|part| part.starts_with(&**prefix)),
            Pattern::Whole(whole) => name.as_str() == &**whole,
            Pattern::Glob(pieces) => glob(pieces, name.parts()),
            Pattern::Nobody => false,
        }
    }

    /// Whether it surely matches all that the other matches.
    pub(crate) fn covers(&self, other: &Pattern) -> bool {
        match (self, other) {
            (Pattern::Anybody, _) | (_, Pattern::Nobody) => true,
            (_, Pattern::Whole(whole)) => self.matches(&Name::new(whole)),
            (Pattern::Prefix(prefix), Pattern::Part(part) | Pattern::Prefix(part)) => part.starts_with(&**prefix),
            (Pattern::Part(_) | Pattern::Prefix(_), Pattern::Glob(pieces)) => {
                pieces.iter().any(|piece| self.covers(&piece.anywhere()))
            }
            _ => self == other,
        }
    }

    pub(crate) fn fit(&self) -> Fit {
        match self {
            Pattern::Anybody => Fit::Anybody,
            Pattern::Part(_) | Pattern::Whole(_) => Fit::Exact,
            Pattern::Prefix(_) | Pattern::Glob(_) | Pattern::Nobody => Fit::Glob,
        }
    }
}

impl Piece {
    fn new(part: &str) -> Option<Piece> {
        let (prefix, is_open) = part.strip_suffix('*').map_or((part, false), |prefix| (prefix, true));
        match (prefix, is_open) {
            ("", true) => Some(Piece::Star),
            ("", false) => None,
            (text, _) if text.contains('*') => None,
            (text, true) => Some(Piece::Prefix(text.into())),
            (text, false) => Some(Piece::Part(text.into())),
        }
    }

    fn anywhere(&self) -> Pattern {
        match self {
            Piece::Star => Pattern::Anybody,
            Piece::Prefix(prefix) => Pattern::Prefix(prefix.clone()),
            Piece::Part(part) => Pattern::Part(part.clone()),
        }
    }

    fn matches(&self, part: &str) -> bool {
        match self {
            Piece::Star => true,
            Piece::Prefix(prefix) => part.starts_with(&**prefix),
            Piece::Part(wanted) => part == &**wanted,
        }
    }
}

/// On a mismatch the last star takes one part more: stars before it need not be tried again, since whatever they could
/// leave to the last one it can skip itself.
fn glob<'a>(pieces: &[Piece], parts: impl Iterator<Item = &'a str> + Clone) -> bool {
    let (mut pieces, mut parts) = (pieces, parts);
    let mut last_star = None;
    loop {
        let mut rest = parts.clone();
        match (pieces.split_first(), rest.next()) {
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some((piece, next_pieces)), Some(part)) if piece.matches(part) => {
                if *piece == Piece::Star {
                    last_star = Some((next_pieces, rest.clone()));
                }
                (pieces, parts) = (next_pieces, rest);
            }
            (_, Some(_)) => {
                let Some((after_star, after_taken)) = &mut last_star else { return false };
                if after_taken.next().is_none() {
                    return false;
                }
                (pieces, parts) = (*after_star, after_taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
