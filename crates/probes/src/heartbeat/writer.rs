//! Writes the beats, each a transaction of its own, on a connection of its own.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use health::{Unknown, Work};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use rand::RngExt;
use tracing::{error, info, warn};

use super::{Heart, row, table};
use crate::ask::variables::is_on;
use crate::complaints::Complaints;
use crate::line::{Line, Open};
use crate::pace::{Tick, Ticker};
use crate::rows::text;
use crate::settings::{Heartbeat, MissingTable};
use crate::trouble;

/// A write that hangs is given up after the deadline of a sample at first, and then later and later: the server may
/// not notice that nobody waits for it, and each that was given up may stay behind there.
const LONGEST_PATIENCE: Duration = Duration::from_secs(30);

/// While nothing is committed a beat says only that replicas still follow: then there is one in so many ticks, and each second.
const QUIET: (u32, Duration) = (4, Duration::from_secs(1));

/// Somebody else who writes our row may write more rarely than we do. It is expected again for twice as long as it took the last time,
/// and a moment.
const SHARED_FOR: (u32, Duration) = (2, Duration::from_secs(2));

/// Until old rows are looked for again: after they were removed, and after they could not be.
const TIDIED: Duration = Duration::from_secs(3600);
const NOT_TIDIED: Duration = Duration::from_secs(600);

pub(crate) struct Writer {
    pub(crate) line: Line,
    pub(crate) ticker: Ticker,
    pub(crate) heartbeat: Arc<Heartbeat>,
    pub(crate) heart: Arc<Heart>,
    pub(crate) timeout: Duration,
    pub(crate) work: Arc<dyn Fn() -> Work + Send + Sync>,
}

/// The beat that is being written, until it is confirmed: one whose answer was lost may have been committed, and must not
/// come to stand for more than it did.
#[derive(Debug, Clone, Copy)]
struct Next {
    number: u64,
    work: Option<Work>,
}

/// What the writer remembers between beats.
#[derive(Debug, Clone)]
struct Life {
    run: Option<u64>,
    /// The server on which the last beat was confirmed.
    server: Option<Arc<str>>,
    next: Next,
}

#[derive(Debug)]
enum Outcome {
    Wrote {
        run: u64,
        at: Instant,
        server: Arc<str>,
        found: Found,
    },
    /// A server that is read-only lets some users write all the same, and ours may be one: what it wrote there would be
    /// on no other server.
    ReadOnly,
}

/// What stood in the row before a beat was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// What was expected there.
    Ours,
    /// Nothing, though we had written it on this server.
    Nothing,
    /// What somebody else wrote since.
    Foreign,
}

impl Found {
    fn of(last_run: Option<u64>, run: u64, same_server: bool) -> Found {
        match last_run {
            _ if !same_server => Found::Ours,
            Some(last) if last == run => Found::Ours,
            Some(_) => Found::Foreign,
            None => Found::Nothing,
        }
    }
}

impl Writer {
    pub(crate) async fn run(mut self) {
        let mut life = Life { run: None, server: None, next: Next { number: 1, work: None } };
        let mut complaints = Complaints::new("the heartbeat cannot be written");
        let mut patience = self.timeout;
        let mut tidying = Tidying::default();
        let mut foreign = Foreign::default();
        loop {
            let tick = self.ticker.tick().await;
            let now = Instant::now();
            match tick {
                Tick::Woken => self.line.hurry(),
                Tick::Due if self.rests(&life, now) => continue,
                Tick::Due => {}
            }
            self.heart.is_due(now);
            if self.line.rests() {
                continue;
            }
            let work = *life.next.work.get_or_insert_with(|| (self.work)());
            let (heartbeat, heart) = (self.heartbeat.clone(), self.heart.clone());
            let attempt = life.clone();
            let beaten = self.line.ask(now + patience, |mut open: Open| async move {
                let beaten = beat(&mut open, &heartbeat, &heart, &attempt).await;
                (open, beaten)
            });
            match beaten.await {
                Ok(Outcome::Wrote { run, at, server, found }) => {
                    if found == Found::Nothing {
                        self.heart.wrote_anew(life.next.number);
                        let table = table::name(&self.heartbeat);
                        warn!(table, "somebody has removed this proxy's heartbeat row; it was written anew");
                    }
                    self.heart.wrote(run, life.next.number, at, work);
                    foreign = foreign.beat(found, life.server == Some(server.clone()), now);
                    self.sharing(foreign.is_there(now));
                    let next = Next { number: life.next.number.saturating_add(1), work: None };
                    life = Life { run: Some(run), server: Some(server), next };
                    patience = self.timeout;
                    self.line.renew_early(false);
                    complaints.fine();
                    if tidying.is_due(now) {
                        let tidied = self.tidy().await;
                        tidying.tried(now, tidied);
                    }
                }
                Ok(Outcome::ReadOnly) => {
                    self.heart.failed(Unknown::Failed);
                    // Soon another server may answer to this address.
                    self.line.renew_early(true);
                    complaints.say(Unknown::Failed, &"the server is read-only");
                }
                Err((_, Some(error))) if table::is_missing(trouble::code(&error)) => {
                    self.heart.failed(Unknown::Failed);
                    self.missing(&mut complaints).await;
                }
                Err((why, error)) => {
                    self.heart.failed(why);
                    if why == Unknown::TimedOut && error.is_none() {
                        patience = (patience * 2).min(LONGEST_PATIENCE.max(self.timeout));
                    }
                    complaints.failed(why, error.as_ref());
                }
            }
        }
    }

    /// The last beat stands for all that has been committed, and is not old.
    fn rests(&self, life: &Life, now: Instant) -> bool {
        let under_way = life.next.work.is_some();
        !under_way && self.heart.stands_for((self.work)()).is_some_and(|at| is_young(now, at, self.ticker.interval()))
    }

    fn sharing(&self, shared: bool) {
        if shared && !self.heart.state().shared_row {
            error!(
                proxy = self.heartbeat.proxy,
                "somebody else writes this proxy's heartbeat row, so that lag cannot be measured by it: give every proxy a name of its own"
            );
        }
        self.heart.row_is_shared(shared);
    }

    async fn missing(&mut self, complaints: &mut Complaints) {
        let statements = table::statements(&self.heartbeat);
        match self.heartbeat.missing {
            MissingTable::SayHow => {
                complaints
                    .say(Unknown::Failed, &format!("its table is missing; make it with: {};", statements.join("; ")));
            }
            MissingTable::Create => {
                let made = self.line.ask(Instant::now() + self.timeout, |mut open: Open| async move {
                    let made = make(&mut open.connection, &statements).await;
                    (open, made)
                });
                match made.await {
                    Ok(()) => info!(table = table::name(&self.heartbeat), "made the heartbeat's table"),
                    Err((why, error)) => {
                        self.heart.failed(why);
                        complaints.failed(why, error.as_ref());
                    }
                }
            }
        }
    }

    /// Rows of proxies that are no more.
    async fn tidy(&mut self) -> Result<(), Unknown> {
        let name = table::name(&self.heartbeat);
        let tidied = self.line.ask(Instant::now() + self.timeout, |mut open: Open| async move {
            let tidied = remove_old(&mut open.connection, &name).await;
            (open, tidied)
        });
        tidied.await.map_err(|(why, error)| {
            let error = error.map_or_else(|| why.means().to_owned(), |error| error.to_string());
            warn!(%why, error, "old rows of the heartbeat's table could not be removed");
            why
        })
    }
}

/// One by one, by their key: a DELETE that looks through the table locks the rows that it passes, and other proxies' beats wait for it.
async fn remove_old(connection: &mut Conn, table: &str) -> mysql_async::Result<()> {
    let old = "written < NOW(6) - INTERVAL 1 DAY";
    let proxies: Vec<Vec<u8>> = connection.query(format!("SELECT proxy FROM {table} WHERE {old} LIMIT 100")).await?;
    for proxy in proxies {
        connection.exec_drop(format!("DELETE FROM {table} WHERE proxy = ? AND {old}"), (proxy,)).await?;
    }
    Ok(())
}

/// Its schema only where that is missing too: who may make a table may not make schemas, not even one that is there.
async fn make(connection: &mut Conn, [schema, table]: &[String; 2]) -> mysql_async::Result<()> {
    match connection.query_drop(table).await {
        Err(error) if table::is_schema_missing(trouble::code(&error)) => {
            connection.query_drop(schema).await?;
            connection.query_drop(table).await
        }
        made => made,
    }
}

/// When old rows are looked for: behind the first beat, and again and again, since proxies go also while this one stays.
#[derive(Debug, Default)]
struct Tidying {
    not_before: Option<Instant>,
}

impl Tidying {
    fn is_due(&self, now: Instant) -> bool {
        self.not_before.is_none_or(|time| now >= time)
    }

    /// What failed is not tried again with the next beat: that one would have to wait for it.
    fn tried(&mut self, now: Instant, tidied: Result<(), Unknown>) {
        self.not_before = Some(now + if tidied.is_ok() { TIDIED } else { NOT_TIDIED });
    }
}

/// Somebody else writes our row.
#[derive(Debug, Clone, Copy, Default)]
struct Foreign {
    seen: Option<Instant>,
    /// How long after the time before.
    gap: Duration,
}

impl Foreign {
    fn beat(self, found: Found, same_server: bool, now: Instant) -> Foreign {
        let since = self.seen.map(|seen| now.saturating_duration_since(seen));
        match found {
            Found::Foreign => Foreign { seen: Some(now), gap: since.unwrap_or_default() },
            Found::Ours | Found::Nothing if same_server => self,
            Found::Ours | Found::Nothing => Foreign::default(),
        }
    }

    /// Whether what stands in the row may be its.
    fn is_there(self, now: Instant) -> bool {
        let expected = self.gap.saturating_mul(SHARED_FOR.0).saturating_add(SHARED_FOR.1);
        self.seen.is_some_and(|seen| now.saturating_duration_since(seen) < expected)
    }
}

/// Whether the next tick is early enough for the next beat, though clocks ring late.
fn is_young(now: Instant, at: Instant, interval: Duration) -> bool {
    now.saturating_duration_since(at) + interval * 3 / 4 < QUIET.1.min(interval.saturating_mul(QUIET.0))
}

/// In one statement, where that can be; else it looks before it writes: whether it may, and who wrote last.
async fn beat(open: &mut Open, heartbeat: &Heartbeat, heart: &Heart, life: &Life) -> mysql_async::Result<Outcome> {
    let server = open.identity.id.clone();
    let same_server = life.server.as_ref() == Some(&server);
    if same_server
        && let Some(run) = life.run
        && open.identity.logs_rows
        && beat_again(open, heartbeat, run, life.next.number).await?
    {
        return Ok(Outcome::Wrote { run, at: Instant::now(), server, found: Found::Ours });
    }
    let (table, proxy) = (table::name(heartbeat), table::proxy(heartbeat));
    let look = format!("SELECT @@global.read_only, (SELECT run FROM {table} WHERE proxy = ?)");
    let seen: Option<mysql_async::Row> = open.connection.exec_first(look, (&proxy,)).await?;
    let read_only = seen.as_ref().and_then(|row| row.as_ref(0)).and_then(text).unwrap_or_default();
    let last_run = row::number(seen.as_ref().and_then(|row| row.as_ref(1)));
    if is_on(&read_only) {
        return Ok(Outcome::ReadOnly);
    }
    if !same_server {
        heart.forget();
    }
    let run = life.run.unwrap_or_else(|| new_run(last_run));
    let number = life.next.number;
    let write = format!(
        "INSERT INTO {table} (proxy, run, beat, written) VALUES (?, ?, ?, NOW(6)) \
         ON DUPLICATE KEY UPDATE run = ?, beat = ?, written = NOW(6)"
    );
    open.connection.exec_drop(write, (&proxy, run, number, run, number)).await?;
    let found = Found::of(last_run, run, same_server);
    Ok(Outcome::Wrote { run, at: Instant::now(), server, found })
}

/// The usual case, for less of the primary's time: nothing but the next number, if the row is still ours and the server
/// takes writes. Whether it was written; if not, somebody must look why.
///
/// Not where statements are logged: the replica would run this one, is read-only, and would write nothing.
async fn beat_again(open: &mut Open, heartbeat: &Heartbeat, run: u64, number: u64) -> mysql_async::Result<bool> {
    // As text: newer servers have words for it, and a word is equal to 0.
    let write = format!(
        "UPDATE {} SET beat = ?, written = NOW(6) WHERE proxy = ? AND run = ? AND CONCAT(@@global.read_only) IN ('0', 'OFF')",
        table::name(heartbeat)
    );
    match open.connection.exec_drop(write, (number, table::proxy(heartbeat), run)).await {
        Ok(()) => Ok(open.connection.affected_rows() == 1),
        // It takes no writes at all (`super_read_only`), whatever the condition: that is for the look to say.
        Err(error) if trouble::code(&error).is_some_and(|code| READ_ONLY.contains(&code)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The server, or its InnoDB, takes no writes from us now.
const READ_ONLY: [u16; 3] = [1290, 1836, 3100];

/// Higher than every one before it, whatever our clock says; and, by chance, another than that of a proxy that starts with
/// the same name at the same moment.
fn new_run(last: Option<u64>) -> u64 {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    let time = u64::try_from(millis).unwrap_or(0).saturating_mul(1 << 20);
    let chance = rand::rng().random_range(0..1 << 20);
    time.saturating_add(chance).max(last.map_or(0, |last| last.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row that is not there is nobody else's.
    #[test]
    fn who_wrote_last() {
        for (last_run, same_server, found) in [
            (Some(80), true, Found::Ours),
            (None, true, Found::Nothing),
            (Some(79), true, Found::Foreign),
            (Some(81), true, Found::Foreign),
            (None, false, Found::Ours),
            (Some(79), false, Found::Ours),
        ] {
            assert_eq!(Found::of(last_run, 80, same_server), found, "{last_run:?}, {same_server}");
        }
    }

    /// It may write once where we write twenty times, and its row says nothing of a lag between.
    #[test]
    fn a_row_is_shared_for_a_while_after_somebody_else_wrote_it() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut foreign = Foreign::default();
        for (second, found, same_server, shared) in [
            (0, Found::Ours, false, false),
            (1, Found::Ours, true, false),
            (2, Found::Foreign, true, true),
            (3, Found::Ours, true, true),
            (4, Found::Ours, true, false),
            // Five seconds later, so that it is expected after five more, or ten.
            (7, Found::Foreign, true, true),
            (12, Found::Ours, true, true),
            (18, Found::Ours, true, true),
            (19, Found::Ours, true, false),
            (20, Found::Foreign, true, true),
            (21, Found::Ours, false, false),
        ] {
            foreign = foreign.beat(found, same_server, at(second));
            assert_eq!(foreign.is_there(at(second)), shared, "{second}");
        }
    }

    #[test]
    fn where_nothing_is_committed_beats_are_rare_and_not_rarer_than_asked_for() {
        let start = Instant::now();
        for (interval, beats_at) in [
            (20, [80, 160, 240]),
            (100, [400, 800, 1200]),
            (250, [1000, 2000, 3000]),
            (400, [800, 1600, 2400]),
            (1000, [1000, 2000, 3000]),
            (5000, [5000, 10_000, 15_000]),
        ] {
            let mut last = 0;
            let ticks = (1..).map(|tick| tick * interval);
            let beats = ticks.filter(|now| {
                // Clocks ring a little late, and an answer takes a moment.
                let at = |ms: u64, late: u64| start + Duration::from_millis(ms) + Duration::from_micros(late);
                let beats = !is_young(at(*now, 900), at(last, 3000), Duration::from_millis(interval));
                last = if beats { *now } else { last };
                beats
            });
            assert_eq!(beats.take(3).collect::<Vec<_>>(), beats_at, "every {interval} ms");
        }
    }

    #[test]
    fn old_rows_are_looked_for_again_each_hour_and_sooner_where_they_could_not_be_removed() {
        let start = Instant::now();
        let mut failing = [false, true, true, false].into_iter();
        let mut tidying = Tidying::default();
        let minutes = (0..200_u64).filter(|minute| {
            let now = start + Duration::from_secs(60 * minute);
            let due = tidying.is_due(now);
            if due {
                let fails = failing.next().unwrap_or(false);
                tidying.tried(now, if fails { Err(Unknown::Denied) } else { Ok(()) });
            }
            due
        });
        assert_eq!(minutes.collect::<Vec<_>>(), [0, 60, 70, 80, 140]);
    }

    #[test]
    fn a_run_is_higher_than_the_one_before_whatever_the_clock_says() {
        let first = new_run(None);
        assert!(first > 1_600_000_000_000 << 20);
        assert_eq!(new_run(Some(u64::MAX - 9)), u64::MAX - 8);
        assert!(new_run(Some(7)) >= first - (1 << 20));
    }
}
