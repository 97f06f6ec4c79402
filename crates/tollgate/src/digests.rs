//! MySQL's digests, learnt from the server.
//!
//! A rule may name a statement by its DIGEST as `performance_schema` prints it. That is a hash over the parser's own token
//! numbers, which differ between versions, so it cannot be computed here: the server is asked for the text behind it, and
//! the text has our fingerprint. Until then the digest matches nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable;
use rules::{Rule, Value};
use statement::{Fingerprint, Mode};
use tokio::sync::Notify;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::kill_query::ProbeUser;

/// What is not known is asked again: a statement has a digest once it has run.
const AGAIN: Duration = Duration::from_secs(60);
/// For one round of questions.
const TIME: Duration = Duration::from_secs(10);
/// Asked in one round; the table that is searched has 10,000 rows by default.
const AT_ONCE: usize = 1000;

/// What rules want to know, and what is known. One thread wants, another learns.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    state: Mutex<State>,
    wanted: Notify,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<Box<str>, Fingerprint>,
    wanted: BTreeSet<Box<str>>,
    /// Something was learnt that no policy has yet.
    news: bool,
}

impl Digests {
    pub(crate) fn fingerprint(&self, digest: &str) -> Option<Fingerprint> {
        self.state().known.get(digest).copied()
    }

    /// All that the rules in force name. What none of them names any more is forgotten.
    pub(crate) fn want<'r>(&self, rules: impl IntoIterator<Item = &'r Rule>) {
        let named: BTreeSet<Box<str>> = rules.into_iter().flat_map(named).collect();
        let mut state = self.state();
        state.known.retain(|digest, _| named.contains(digest));
        let wanted: BTreeSet<Box<str>> = named.into_iter().filter(|digest| !state.known.contains_key(digest)).collect();
        let more = wanted.iter().any(|digest| !state.wanted.contains(digest));
        state.wanted = wanted;
        drop(state);
        if more {
            self.wanted.notify_one();
        }
    }

    /// Whether the policy should be made anew.
    pub(crate) fn take_news(&self) -> bool {
        std::mem::take(&mut self.state().news)
    }

    fn unknown(&self) -> Vec<Box<str>> {
        self.state().wanted.iter().take(AT_ONCE).cloned().collect()
    }

    fn learnt(&self, digest: &str, text: &str) {
        let mut state = self.state();
        if state.wanted.remove(digest) {
            state.known.insert(digest.into(), statement::fingerprint(text.as_bytes(), Mode::default()));
            state.news = true;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The digests that a rule names.
pub(crate) fn named(rule: &Rule) -> impl Iterator<Item = Box<str>> {
    let conditions = rule.matching.conditions.iter().chain(&rule.matching.not);
    conditions.flat_map(|condition| &condition.values).filter_map(|value| match value {
        Value::Digest(digest) => Some(digest.clone()),
        _ => None,
    })
}

/// Asks whenever something is wanted that is not known, and again each minute.
pub(crate) async fn learn(digests: Arc<Digests>, probe: ProbeUser) {
    loop {
        let unknown = digests.unknown();
        if unknown.is_empty() {
            digests.wanted.notified().await;
            continue;
        }
        match timeout(TIME, ask(&digests, &probe, &unknown)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(
                %error,
                "rules name digests, and the server does not tell their texts; grant the probe user SELECT on \
                 performance_schema.events_statements_summary_by_digest"
            ),
            Err(_) => warn!("rules name digests, and the server did not tell their texts in time"),
        }
        let _ = timeout(AGAIN, digests.wanted.notified()).await;
    }
}

async fn ask(digests: &Digests, probe: &ProbeUser, unknown: &[Box<str>]) -> mysql_async::Result<()> {
    let mut connection = probe.connect(None).await?;
    let sql = "SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST = ? LIMIT 1";
    for digest in unknown {
        let text: Option<Option<String>> = connection.exec_first(sql, (&**digest,)).await?;
        match text.flatten() {
            Some(text) if text.ends_with("...") => warn!(
                digest = &**digest,
                "the server has cut this digest's text off: write the statement itself as the rule's fingerprint, or raise \
                 max_digest_length"
            ),
            Some(text) => {
                info!(digest = &**digest, "learnt the statement behind a digest");
                digests.learnt(digest, &text);
            }
            None => {}
        }
    }
    let _ = connection.disconnect().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rules::Timestamp;
    use serde_json::json;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

    fn rule(digests: &[&str]) -> Rule {
        let json = json!({ "match": { "fingerprint": digests }, "do": { "hold": true } });
        config::rule::from_json(&json, &[], Timestamp(0)).expect("a rule")
    }

    #[test]
    fn what_is_wanted_is_learnt_once_and_forgotten_with_its_rule() {
        let digests = Digests::default();
        let of = |digest: &str| digests.fingerprint(digest);
        digests.want([&rule(&[ONE, TWO])]);
        assert_eq!(digests.unknown(), [ONE.into(), TWO.into()]);
        assert_eq!((of(ONE), digests.take_news()), (None, false));

        digests.learnt(ONE, "SELECT * FROM `orders` WHERE `id` = ?");
        let same = statement::fingerprint(b"select * from orders where id=7", Mode::default());
        assert_eq!(of(ONE), Some(same));
        assert_eq!((digests.take_news(), digests.take_news()), (true, false));
        assert_eq!(digests.unknown(), [TWO.into()]);

        digests.want([&rule(&[ONE])]);
        assert!(digests.unknown().is_empty());
        digests.learnt(TWO, "SELECT ?");
        assert_eq!((of(ONE), of(TWO), digests.take_news()), (Some(same), None, false));

        digests.want([]);
        assert_eq!(of(ONE), None);
    }
}
