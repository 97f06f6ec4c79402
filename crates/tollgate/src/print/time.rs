//! Moments and spans, for people.

use serde_json::Value as Json;

use super::{Tone, text};

/// A moment to the second: nobody ends a rule on the millisecond.
pub(crate) fn moment(moment: &str) -> String {
    match moment.split_once('.') {
        Some((seconds, fraction)) if fraction.ends_with('Z') => format!("{seconds}Z"),
        _ => moment.to_owned(),
    }
}

/// The two largest units.
fn span(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match () {
        () if days > 0 => format!("{days}d {hours}h"),
        () if hours > 0 => format!("{hours}h {minutes}m"),
        () if minutes > 0 => format!("{minutes}m {rest}s"),
        () => format!("{rest}s"),
    }
}

/// How much longer a rule lasts, and whether that is a reason to look.
pub(crate) fn left(rule: &Json) -> (String, Tone) {
    let is = |key: &str| rule.get(key).and_then(Json::as_bool).unwrap_or_default();
    match rule.get("seconds_left").and_then(Json::as_u64) {
        _ if is("expired") => (format!("ended {}", moment(&text(rule, "expires"))), Tone::Faint),
        None => ("permanent".to_owned(), Tone::Plain),
        Some(seconds) if is("ending") => (span(seconds), Tone::Careful),
        Some(seconds) => (span(seconds), Tone::Plain),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spans_are_short() {
        for (seconds, shown) in [
            (0, "0s"),
            (59, "59s"),
            (60, "1m 0s"),
            (3599, "59m 59s"),
            (3600, "1h 0m"),
            (7199, "1h 59m"),
            (86_400 * 3 + 3600 * 4 + 59, "3d 4h"),
        ] {
            assert_eq!(span(seconds), shown);
        }
    }

    #[test]
    fn what_is_left_of_a_rule() {
        for (rule, shown, tone) in [
            (json!({ "permanent": true, "seconds_left": null }), "permanent", Tone::Plain),
            (json!({ "seconds_left": 7200, "ending": false, "expired": false }), "2h 0m", Tone::Plain),
            (json!({ "seconds_left": 100, "ending": true, "expired": false }), "1m 40s", Tone::Careful),
            (
                json!({ "seconds_left": 0, "expired": true, "expires": "2026-04-21T16:00:00.123Z" }),
                "ended 2026-04-21T16:00:00Z",
                Tone::Faint,
            ),
        ] {
            assert_eq!(left(&rule), (shown.to_owned(), tone));
        }
    }
}
