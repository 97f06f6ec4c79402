//! Rules that cannot do what whoever wrote them must have meant.

mod claims;
mod nothing;
mod shields;

use std::fmt;

use crate::explain::Field;
use crate::matching::Key;
use crate::rule::{Rule, RuleId};
use crate::ruleset::RuleSet;
use crate::timestamp::Timestamp;

/// About one rule. It prints as a sentence that does not name the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    pub rule: RuleId,
    pub kind: WarningKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WarningKind {
    /// A value that fits nothing, and why.
    ValueFitsNothing {
        key: Key,
        value: String,
        why: &'static str,
    },
    /// All values of a condition are under `not` as well.
    ExcludesItself {
        key: Key,
    },
    /// It concerns only `control` statements, which always pass.
    OnlyControl,
    /// `max_connections` is decided at login, when this key is not known yet.
    NotKnownAtLogin {
        key: Key,
    },
    Expired {
        since: Timestamp,
    },
    /// Whatever it matches, the other rule matches too and owns the field.
    AlwaysShielded {
        field: Field,
        by: RuleId,
    },
    /// It restricts only what certainly is of a class, so a routine or dynamic SQL escapes it.
    NarrowClass,
    /// It is strict to whoever makes a claim, and a client that does not make it is not concerned.
    Escapable {
        key: Key,
    },
    /// It favours whoever makes a claim, and nobody whom it concerns is trusted to make one.
    UntrustedFavour {
        key: Key,
    },
    /// The same for a name that is a claim, unless a user, an address or a certificate happens to be called so.
    EscapableUnlessNamed {
        scope: String,
    },
    UntrustedFavourUnlessNamed {
        scope: String,
    },
}

impl Warning {
    /// Not certain: it depends on whom the database knows, so it is worth a note and no alarm.
    pub fn is_certain(&self) -> bool {
        match self.kind {
            WarningKind::ValueFitsNothing { .. }
            | WarningKind::ExcludesItself { .. }
            | WarningKind::OnlyControl
            | WarningKind::NotKnownAtLogin { .. }
            | WarningKind::Expired { .. }
            | WarningKind::AlwaysShielded { .. }
            | WarningKind::NarrowClass
            | WarningKind::Escapable { .. }
            | WarningKind::UntrustedFavour { .. } => true,
            WarningKind::EscapableUnlessNamed { .. } | WarningKind::UntrustedFavourUnlessNamed { .. } => false,
        }
    }
}

impl RuleSet {
    /// For `check`, and for adding a rule: what of these rules is without effect or easily escaped. Rules that are off say
    /// nothing.
    pub fn warnings(rules: &[Rule], identity: &identity::Settings, now: Timestamp) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for rule in rules.iter().filter(|rule| rule.mode != Some(crate::rule::Mode::Off)) {
            let kinds = nothing::find(rule, now).into_iter().chain(claims::find(rule, identity));
            warnings.extend(kinds.map(|kind| Warning { rule: rule.id.clone(), kind }));
        }
        warnings.extend(shields::find(rules, now));
        warnings
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WarningKind::ValueFitsNothing { key, value, why } => write!(f, "{key} `{value}` can match nothing: {why}"),
            WarningKind::ExcludesItself { key } => {
                write!(f, "it can match nothing: whatever fits {key} is left out by `not`")
            }
            WarningKind::OnlyControl => f.write_str("it does nothing: statements of the class control always pass"),
            WarningKind::NotKnownAtLogin { key } => {
                write!(f, "its max_connections does nothing: it is decided at login, when {key} is not known yet")
            }
            WarningKind::Expired { since } => write!(f, "it does nothing: it ended at {since}"),
            WarningKind::AlwaysShielded { field, by } => {
                write!(f, "its {field} does nothing: rule {by} matches all that it matches, and owns it")
            }
            WarningKind::NarrowClass => f.write_str(
                "a client escapes `class: { exactly: … }` by a routine or by dynamic SQL: without `exactly`, what may be of the \
                 class matches too",
            ),
            WarningKind::Escapable { key } => {
                write!(f, "a client escapes it by not saying {key}: match on user or address as well")
            }
            WarningKind::UntrustedFavour { key } => write!(
                f,
                "it favours nobody: {key} is what a client says of itself, and nobody whom it matches is in trust_claims_of"
            ),
            WarningKind::EscapableUnlessNamed { scope } => {
                write!(f, "unless a user is called `{scope}`, a client escapes it by not saying its name")
            }
            WarningKind::UntrustedFavourUnlessNamed { scope } => write!(
                f,
                "unless a user is called `{scope}`, it favours nobody: names are what clients say of themselves, and nobody \
                 whom it matches is in trust_claims_of"
            ),
        }
    }
}

#[cfg(test)]
mod tests;
