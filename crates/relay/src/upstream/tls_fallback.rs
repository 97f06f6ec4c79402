//! `upstream.tls: preferred` before a server whose TLS does not work with ours, such as one that speaks TLS 1.1 at most.
//!
//! A failed handshake costs a connection, and the server counts it against the proxy's address (`max_connect_errors`). So
//! its failure is remembered, and logins go without TLS; once a minute one login tries again.
//!
//! This gives a man in the middle nothing: he could take the TLS flag out of the greeting, which nothing protects, and
//! `preferred` would believe him. Whoever needs protection against him sets `verify_ca` or `verify_identity`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const RETRY_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct TlsFallback {
    /// When TLS is to be tried again; `None` while it works or was never tried.
    retry_at: Mutex<Option<Instant>>,
}

impl TlsFallback {
    /// Whether a login is to go without TLS. Claims the next attempt when one is due: all other logins stay without TLS
    /// until it has succeeded.
    pub(crate) fn is_in_force(&self, now: Instant) -> bool {
        self.with(|retry_at| match *retry_at {
            None => false,
            Some(due) if now < due => true,
            Some(_) => {
                *retry_at = Some(now + RETRY_AFTER);
                false
            }
        })
    }

    pub(crate) fn handshake_failed(&self, now: Instant) {
        self.with(|retry_at| *retry_at = Some(now + RETRY_AFTER));
    }

    pub(crate) fn handshake_succeeded(&self) {
        self.forget();
    }

    /// The next login tries TLS.
    pub(crate) fn forget(&self) {
        self.with(|retry_at| *retry_at = None);
    }

    fn with<T>(&self, change: impl FnOnce(&mut Option<Instant>) -> T) -> T {
        change(&mut self.retry_at.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_handshake_is_retried_by_one_login_a_minute() {
        let fallback = TlsFallback::default();
        let start = Instant::now();
        assert!(!fallback.is_in_force(start), "never tried");
        fallback.handshake_failed(start);
        assert!(fallback.is_in_force(start));
        assert!(fallback.is_in_force(start + RETRY_AFTER - Duration::from_millis(1)));
        let due = start + RETRY_AFTER;
        assert!(!fallback.is_in_force(due), "the one that tries");
        assert!(fallback.is_in_force(due), "the next one does not");
        fallback.handshake_succeeded();
        assert!(!fallback.is_in_force(due));
    }

    #[test]
    fn fallback_is_forgotten_with_the_server() {
        let fallback = TlsFallback::default();
        let now = Instant::now();
        fallback.handshake_failed(now);
        fallback.forget();
        assert!(!fallback.is_in_force(now));
    }
}
