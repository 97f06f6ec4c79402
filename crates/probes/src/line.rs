//! One connection to one server: kept while it answers, given up when it does not, dialled again with patience.

use std::future::Future;
use std::time::{Duration, Instant};

use health::Unknown;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::time::timeout_at;

use crate::connector::Connector;
use crate::rows::{pairs, rows};
use crate::server::{Flavor, IDENTITY, Identity};
use crate::trouble::unknown;

/// Between two dials that failed, from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// A name may come to stand for another server while the connection to the old one lives on.
const RENEW: Duration = Duration::from_secs(60);
/// The server was demoted: somebody else has, or soon will have, its place.
const RENEW_EARLY: Duration = Duration::from_secs(5);
/// A privilege that has been granted holds for new connections only.
const RENEW_DENIED: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Line {
    connector: Connector,
    timeout: Duration,
    /// More for the session, such as `SESSION TRANSACTION READ ONLY`.
    more: &'static [&'static str],
    renew: Option<Duration>,
    early: bool,
    denied: bool,
    open: Option<Open>,
    pause: Duration,
    not_before: Option<Instant>,
}

/// A connection that has told who it is.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) connection: Conn,
    pub(crate) identity: Identity,
    since: Instant,
}

impl Line {
    pub(crate) fn new(connector: Connector, timeout: Duration) -> Line {
        Line {
            connector,
            timeout,
            more: &[],
            renew: None,
            early: false,
            denied: false,
            open: None,
            pause: PAUSES.0,
            not_before: None,
        }
    }

    /// For an address that is a name: dialled anew each minute, so that a name that has moved is noticed.
    pub(crate) fn renewed(self, is_a_name: bool) -> Line {
        Line { renew: is_a_name.then_some(RENEW), ..self }
    }

    pub(crate) fn renew_early(&mut self, early: bool) {
        self.early = early;
    }

    pub(crate) fn with(self, more: &'static [&'static str]) -> Line {
        Line { more, ..self }
    }

    pub(crate) fn has_connection(&self) -> bool {
        self.open.is_some()
    }

    /// Whether it is too soon after a failed dial for another.
    pub(crate) fn rests(&self) -> bool {
        self.open.is_none() && self.not_before.is_some_and(|time| Instant::now() < time)
    }

    /// Somebody waits: dial now.
    pub(crate) fn hurry(&mut self) {
        self.not_before = None;
    }

    /// How old a connection may become.
    fn oldest(&self) -> Duration {
        let limits = [self.renew, self.early.then_some(RENEW_EARLY), self.denied.then_some(RENEW_DENIED)];
        limits.into_iter().flatten().min().unwrap_or(Duration::MAX)
    }

    /// Asks within the deadline, dialling first if need be. What hangs is dropped, never waited for.
    ///
    /// `ask` takes the connection and gives it back: a closure that borrowed it could not be sent between threads. An
    /// answer with an error of the server in it is an answer.
    pub(crate) async fn ask<T, F>(
        &mut self,
        deadline: Instant,
        ask: impl FnOnce(Open) -> F,
    ) -> Result<T, (Unknown, Option<mysql_async::Error>)>
    where
        F: Future<Output = (Open, mysql_async::Result<T>)>,
    {
        if self.open.as_ref().is_some_and(|open| open.since.elapsed() > self.oldest()) {
            self.open = None;
            self.denied = false;
        }
        let asked = async {
            let open = match self.open.take() {
                Some(open) => open,
                None => dial(&self.connector, self.timeout, self.more).await?,
            };
            Ok(ask(open).await)
        };
        let failed = match timeout_at(deadline.into(), asked).await {
            Ok(Ok((open, Ok(answer)))) => {
                self.open = Some(open);
                self.pause = PAUSES.0;
                self.not_before = None;
                return Ok(answer);
            }
            Ok(Ok((open, Err(error)))) => {
                self.denied |= unknown(&error) == Unknown::Denied;
                if !error.is_fatal() {
                    self.open = Some(open);
                }
                (unknown(&error), Some(error))
            }
            Ok(Err(error)) => (unknown(&error), Some(error)),
            Err(_) => (Unknown::TimedOut, None),
        };
        if self.open.is_none() {
            self.not_before = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(PAUSES.1);
        }
        Err(failed)
    }
}

async fn dial(connector: &Connector, timeout: Duration, more: &[&str]) -> mysql_async::Result<Open> {
    let mut connection = connector.connect(None).await?;
    let identity = Identity::of(&pairs(rows(&mut connection, IDENTITY).await?));
    connection.query_drop(session(identity.flavor, timeout)).await?;
    for statement in more {
        connection.query_drop(*statement).await?;
    }
    Ok(Open { connection, identity, since: Instant::now() })
}

/// What we ask must end on the server too: it does not notice that nobody waits any more. And a server may be set so
/// that nothing commits by itself, or that times are said by another zone.
fn session(flavor: Flavor, timeout: Duration) -> String {
    let seconds = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
    let limit = match flavor {
        Flavor::Mysql => format!("max_execution_time={}", timeout.as_millis().max(1)),
        Flavor::Mariadb => format!("max_statement_time={}", timeout.as_secs_f64()),
    };
    format!(
        "SET SESSION autocommit=1, time_zone='+00:00', wait_timeout=60, lock_wait_timeout={seconds}, \
         innodb_lock_wait_timeout={seconds}, {limit}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gives_up_when_we_do() {
        let mysql = session(Flavor::Mysql, Duration::from_millis(1500));
        assert!(mysql.contains("max_execution_time=1500") && mysql.contains(" lock_wait_timeout=2,"), "{mysql}");
        let mariadb = session(Flavor::Mariadb, Duration::from_millis(1500));
        assert!(mariadb.ends_with("max_statement_time=1.5"), "{mariadb}");
    }
}
