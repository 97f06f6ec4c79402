//! The error that a refused client gets: one that an application can act on, and on which no pool drops the connection.

use std::fmt;
use std::time::Duration;

use rules::{CompiledRule, Share};

use crate::port::Refusal;

/// Why something was held or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The dice.
    Ratio,
    Hold,
    /// `max_concurrency`.
    Concurrency,
    /// `max_connections`.
    Connections,
    /// Too many wait already.
    Queue,
    /// Its transaction had been refused before.
    Transaction,
    /// A gate, whose name stands in the place of a rule's.
    Gate,
}

impl Reason {
    pub const ALL: [Reason; 7] = [
        Reason::Ratio,
        Reason::Hold,
        Reason::Concurrency,
        Reason::Connections,
        Reason::Queue,
        Reason::Transaction,
        Reason::Gate,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Ratio => "ratio",
            Reason::Hold => "hold",
            Reason::Concurrency => "concurrency",
            Reason::Connections => "connections",
            Reason::Queue => "queue",
            Reason::Transaction => "transaction",
            Reason::Gate => "gate",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Reason {
    /// Why the owner of a share holds something.
    pub(crate) fn of_share(rule: &CompiledRule) -> Reason {
        match rule.effect.share {
            Some(Share::Hold) => Reason::Hold,
            Some(Share::Ratio(_) | Share::Exempt) | None => Reason::Ratio,
        }
    }
}

/// In the place of a rule, where none is to blame.
pub const NOBODY: &str = "-";

/// Which error a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Preset {
    /// ER_USER_LIMIT_REACHED, with a state on which no pool drops the connection.
    #[default]
    Throttled,
    /// ER_LOCK_WAIT_TIMEOUT with MySQL's own text in front: frameworks retry on it.
    Retryable,
    /// ER_QUERY_TIMEOUT.
    Timeout,
    /// ER_OUT_OF_RESOURCES, as Vitess answers.
    Vitess,
}

/// What a refusal says.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Or a gate's name, or [`NOBODY`].
    pub rule: &'a str,
    pub reason: Reason,
    pub client: &'a str,
    pub retry_after: Duration,
    pub id: u64,
}

pub fn refusal(preset: Preset, words: &Words<'_>) -> Refusal {
    let (code, lead) = match preset {
        Preset::Throttled => (1226, ""),
        Preset::Retryable => (1205, "Lock wait timeout exceeded; try restarting transaction "),
        Preset::Timeout => (3024, "Query execution was interrupted, maximum statement execution time exceeded "),
        Preset::Vitess => (1041, "Transaction throttled "),
    };
    Refusal { code, sqlstate: *b"HY000", message: format!("{lead}{}", text(words)) }
}

/// At login, where there is one error that says it.
pub fn too_many_connections(words: &Words<'_>) -> Refusal {
    Refusal { code: 1040, sqlstate: *b"08004", message: format!("Too many connections {}", text(words)) }
}

fn text(words: &Words<'_>) -> String {
    // What decided: a rule, or a gate, which has no rule.
    let (rule, reason) = match words.reason {
        Reason::Gate => (NOBODY.to_owned(), format!("gate:{}", harmless(words.rule))),
        reason => (harmless(words.rule), reason.to_string()),
    };
    format!(
        "[tollgate] rule={} reason={} client={} retry_after_ms={} id={:016x}",
        rule,
        reason,
        harmless(words.client),
        words.retry_after.as_millis(),
        words.id
    )
}

/// Words on which frameworks take a connection for lost (Laravel, Rails); what a client calls itself must not say them.
const TAKEN_FOR_A_LOST_CONNECTION: [&str; 4] = ["query_wait_timeout", "decryption", "ssl:", "reset"];

/// Letters, digits and a few signs, so that the message stays one line of words that can be parsed.
fn harmless(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_./:,@*".contains(c);
    let clean: String = text.chars().take(128).map(|c| if fits(c) { c } else { '_' }).collect();
    let lower = clean.to_ascii_lowercase();
    if clean.is_empty() || TAKEN_FOR_A_LOST_CONNECTION.iter().any(|words| lower.contains(words)) {
        return NOBODY.to_owned();
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(rule: &'a str, client: &'a str) -> Words<'a> {
        Words { rule, reason: Reason::Ratio, client, retry_after: Duration::from_millis(850), id: 0xAB }
    }

    #[test]
    fn every_preset_keeps_the_connection() {
        for (preset, code, message) in [
            (
                Preset::Throttled,
                1226,
                "[tollgate] rule=r reason=ratio client=a:b retry_after_ms=850 id=00000000000000ab",
            ),
            (
                Preset::Retryable,
                1205,
                "Lock wait timeout exceeded; try restarting transaction [tollgate] rule=r reason=ratio client=a:b \
                 retry_after_ms=850 id=00000000000000ab",
            ),
            (
                Preset::Timeout,
                3024,
                "Query execution was interrupted, maximum statement execution time exceeded [tollgate] rule=r \
                 reason=ratio client=a:b retry_after_ms=850 id=00000000000000ab",
            ),
            (
                Preset::Vitess,
                1041,
                "Transaction throttled [tollgate] rule=r reason=ratio client=a:b retry_after_ms=850 \
                 id=00000000000000ab",
            ),
        ] {
            let refused = refusal(preset, &words("r", "a:b"));
            assert_eq!((refused.code, &refused.sqlstate, refused.message.as_str()), (code, b"HY000", message));
        }
    }

    #[test]
    fn what_a_client_calls_itself_does_no_harm() {
        for (client, shown) in [
            ("etl:loader", "etl:loader"),
            ("Lost connection", "Lost_connection"),
            ("a\nb#c'", "a_b_c_"),
            ("x query_wait_timeout", "-"),
            ("", "-"),
        ] {
            let message = refusal(Preset::Throttled, &words("r", client)).message;
            assert!(message.contains(&format!(" client={shown} ")), "{message}");
        }
        let long = "x".repeat(10_000);
        assert!(refusal(Preset::Throttled, &words(&long, &long)).message.len() < 400);
    }
}
