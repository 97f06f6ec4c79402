//! Replication lag without a heartbeat, on MySQL: how old is what is being applied.
//!
//! The age of a transaction is from its commit on the server where it began, so a chain counts as a whole. Its precision:
//! microseconds, as good as the two clocks are known (half a round trip each, [`crate::clock`]). Its blind spots: what
//! the primary has committed and this server has not fetched yet does not count, nor does a transaction that was committed
//! by a third server whose clock is off. While nothing is being applied and something waits, the age of the last that was
//! fetched is a lower bound. A heartbeat has none of these.

use health::{Reading, Unknown};
use mysql_async::Conn;

use crate::rows::{TextRow, prepared};

/// One worker of one channel, which says of its channel what each of them says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Worker {
    receives: bool,
    /// Last fetched, last applied, and being applied: which, and when it was committed first.
    queued: Option<Transaction>,
    applied: Option<Transaction>,
    applying: Option<Transaction>,
    now: Option<f64>,
}

/// Without GTIDs all have the same name, and only the time tells them apart.
#[derive(Debug, Clone, PartialEq)]
struct Transaction {
    name: String,
    committed: f64,
}

/// Clocks are only known to within a round trip: so far in the future is now.
const TOLERANCE: f64 = 1.0;

pub(crate) async fn ask(connection: &mut Conn) -> mysql_async::Result<Vec<Worker>> {
    let sql = "SELECT c.SERVICE_STATE AS receiver, UNIX_TIMESTAMP(NOW(6)) AS now, \
        c.LAST_QUEUED_TRANSACTION AS queued, \
        UNIX_TIMESTAMP(c.LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS queued_at, \
        w.LAST_APPLIED_TRANSACTION AS applied, \
        UNIX_TIMESTAMP(w.LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS applied_at, \
        w.APPLYING_TRANSACTION AS applying, \
        UNIX_TIMESTAMP(w.APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS applying_at \
        FROM performance_schema.replication_applier_status_by_worker w \
        JOIN performance_schema.replication_connection_status c ON c.CHANNEL_NAME = w.CHANNEL_NAME \
        WHERE c.CHANNEL_NAME <> 'group_replication_recovery'";
    Ok(prepared(connection, sql).await?.iter().map(Worker::of).collect())
}

impl Worker {
    fn of(row: &TextRow) -> Worker {
        let transaction = |name: &str, at: &str| {
            let named = row.text(&[name]);
            // Of a server that does not tell when it committed, there is no time.
            let committed = row.number(&[at]).filter(|at| *at > 0.0);
            (!named.is_empty())
                .then(|| Transaction { name: named.to_owned(), committed: committed.unwrap_or(f64::NAN) })
        };
        Worker {
            receives: row.text(&["receiver"]) == "ON",
            queued: transaction("queued", "queued_at"),
            applied: transaction("applied", "applied_at"),
            applying: transaction("applying", "applying_at"),
            now: row.number(&["now"]),
        }
    }
}

/// `ahead`: by how much this server's clock is before the primary's, in seconds. The worst of all channels.
pub(crate) fn lag(workers: &[Worker], ahead: f64) -> Reading {
    // Without a source, nobody knows what is missing.
    if workers.is_empty() || workers.iter().any(|worker| !worker.receives) {
        return Reading::Unknown(Unknown::Null);
    }
    let Some(now) = workers.iter().find_map(|worker| worker.now) else { return Reading::Unknown(Unknown::Null) };
    let is_applied = |queued: &Transaction| workers.iter().any(|worker| worker.applied.as_ref() == Some(queued));
    let applying = workers.iter().filter_map(|worker| worker.applying.as_ref());
    let waiting = workers.iter().filter_map(|worker| worker.queued.as_ref()).filter(|queued| !is_applied(queued));
    let ages = applying.chain(waiting).map(|transaction| now - transaction.committed - ahead);
    let mut worst = 0.0_f64;
    for age in ages {
        if age.is_nan() {
            return Reading::Unknown(Unknown::Unsupported);
        }
        if age < -TOLERANCE {
            return Reading::Unknown(Unknown::Negative);
        }
        worst = worst.max(age);
    }
    Reading::of(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, committed: f64) -> Option<Transaction> {
        Some(Transaction { name: name.into(), committed })
    }

    fn worker(queued: Option<Transaction>, applied: Option<Transaction>, applying: Option<Transaction>) -> Worker {
        Worker { receives: true, queued, applied, applying, now: Some(100.0) }
    }

    #[test]
    fn lag_is_the_age_of_the_oldest_that_is_not_applied() {
        let lost = Worker { receives: false, ..worker(None, None, None) };
        for (workers, ahead, expected) in [
            (vec![worker(None, None, None)], 0.0, Reading::Value(0.0)),
            (vec![worker(at("u:9", 98.0), at("u:9", 98.0), None)], 0.0, Reading::Value(0.0)),
            // The oldest of several that are being applied at once.
            (
                vec![
                    worker(at("u:9", 98.0), at("u:9", 98.0), None),
                    worker(at("u:9", 98.0), at("u:3", 80.0), at("u:4", 90.0)),
                    worker(at("u:9", 98.0), None, at("u:5", 91.0)),
                ],
                0.0,
                Reading::Value(10.0),
            ),
            // Fetched, and not yet begun.
            (vec![worker(at("u:9", 98.0), at("u:8", 97.0), None)], 0.0, Reading::Value(2.0)),
            // This server's clock is ahead of the primary's by 1.5 s; or behind it by so much.
            (vec![worker(None, None, at("u:4", 90.0))], 1.5, Reading::Value(8.5)),
            (vec![worker(None, None, at("u:4", 100.5))], -1.0, Reading::Value(0.5)),
            (vec![worker(None, None, at("u:4", 100.5))], 0.0, Reading::Value(0.0)),
            (vec![worker(None, None, at("u:4", 400.0))], 0.0, Reading::Unknown(Unknown::Negative)),
            // Without GTIDs.
            (vec![worker(at("ANONYMOUS", 98.0), at("ANONYMOUS", 95.0), None)], 0.0, Reading::Value(2.0)),
            (vec![worker(at("ANONYMOUS", 98.0), at("ANONYMOUS", 98.0), None)], 0.0, Reading::Value(0.0)),
            (vec![worker(None, None, at("u:4", f64::NAN))], 0.0, Reading::Unknown(Unknown::Unsupported)),
            (vec![worker(None, None, None), lost], 0.0, Reading::Unknown(Unknown::Null)),
            (vec![], 0.0, Reading::Unknown(Unknown::Null)),
        ] {
            assert_eq!(lag(&workers, ahead), expected, "{workers:?}");
        }
    }
}
