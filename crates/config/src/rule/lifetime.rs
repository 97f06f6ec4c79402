//! How long a rule lasts that does not say so.

use std::time::Duration;

use rules::{Do, Key, Match, Share, Value};

const HOUR: Duration = Duration::from_secs(3600);
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What lets through or stops everything should be looked at again soon.
pub(super) fn default_for(matching: &Match, effect: &Do) -> Duration {
    let everyone = |value: &Value| matches!(value, Value::Scope(scope) if &*scope.text == "*");
    let all = matching.conditions.iter().all(|one| one.key == Key::Scope && one.values.iter().any(everyone));
    match effect.share {
        Some(Share::Exempt | Share::Hold) => HOUR,
        _ if all => 2 * HOUR,
        Some(Share::Ratio(_)) | None => LONGEST,
    }
}
