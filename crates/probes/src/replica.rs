//! A replica: its lag at every sample, and each second whether it is one at all.

use std::time::{Duration, Instant};

use health::{BuiltIn, Reading, ServerName, Unknown, Work};

use crate::ask::channels::{self, Channel};
use crate::ask::{applier, variables};
use crate::clock::Clock;
use crate::complaints::Complaints;
use crate::connector::Connector;
use crate::event::{Role, ServerSeen, Sightings};
use crate::heartbeat::{Heart, Showed, row};
use crate::line::{Line, Open};
use crate::pace::{Tick, Ticker};
use crate::primary::SLOWLY;
use crate::run::Common;
use crate::server::{Flavor, ReplicationState};
use crate::settings::Endpoint;
use crate::trouble;

type Failure = (Unknown, Option<mysql_async::Error>);

pub(crate) struct Replica {
    common: Common,
    name: ServerName,
    line: Line,
    complaints: Complaints,
    sightings: Sightings,
    clock: Clock,
    slow_after: Option<Instant>,
    seen: Option<Seen>,
    showed: Showed,
}

/// What the last slow look found.
#[derive(Debug)]
struct Seen {
    flavor: Flavor,
    state: ReplicationState,
    /// Whether performance_schema tells what is being applied. It is asked once a connection.
    tells_transactions: bool,
}

impl Replica {
    pub(crate) fn new(common: &Common, endpoint: &Endpoint) -> Replica {
        let name = endpoint.name();
        let connector = Connector::new(endpoint, &common.settings.login);
        Replica {
            line: Line::new(connector, common.settings.timeout).renewed(endpoint.address.is_a_name()),
            complaints: Complaints::new(format!("the lag of the replica {name} cannot be measured")),
            common: common.clone(),
            name,
            sightings: Sightings::default(),
            clock: Clock::default(),
            slow_after: None,
            seen: None,
            showed: Showed::default(),
        }
    }

    pub(crate) async fn run(mut self) {
        let mut ticker = Ticker::new(self.common.pace.clone(), |pace| pace.lag);
        loop {
            let tick = ticker.tick().await;
            if self.line.rests() && tick == Tick::Due {
                continue;
            }
            let woken = Instant::now();
            let mut deadline = woken + self.common.settings.timeout;
            let mut patience = self.common.settings.timeout;
            if tick == Tick::Woken {
                self.line.hurry();
                self.slow_after = None;
                if !self.fresh_beat(woken, deadline).await {
                    // What it shows is from before the pause: that says nothing of now.
                    patience = Duration::ZERO;
                }
                deadline = Instant::now() + self.common.settings.timeout;
            }
            let asked = Instant::now();
            let (reading, at, applied) = match self.sample(deadline, patience).await {
                Ok(sampled) => {
                    self.complaints.fine();
                    sampled
                }
                Err((why, error)) => {
                    self.complaints.failed(why, error.as_ref());
                    self.slow_after = None;
                    (Reading::Unknown(why), asked, None)
                }
            };
            let metric = BuiltIn::ReplicationLag.as_str().into();
            self.common.outbox.report(metric, &self.name, reading, at, applied);
        }
    }

    /// After a pause the row is read only when it can show something new.
    async fn fresh_beat(&self, since: Instant, deadline: Instant) -> bool {
        match &self.common.heart {
            Some(heart) => heart.beat_since(since, deadline).await,
            None => true,
        }
    }

    async fn sample(
        &mut self,
        deadline: Instant,
        patience: Duration,
    ) -> Result<(Reading, Instant, Option<Work>), Failure> {
        let now = Instant::now();
        if !self.line.has_connection() {
            self.showed = Showed::default();
        }
        if !self.line.has_connection() || self.slow_after.is_none_or(|time| now >= time) {
            self.look_at_state(deadline).await?;
            self.slow_after = Some(now + SLOWLY);
        }
        let Some(seen) = &self.seen else { return Err((Unknown::NotYet, None)) };
        if let Some(verdict) = seen.state.verdict() {
            return Ok((verdict, now, None));
        }
        match self.common.heart.clone() {
            Some(heart) => self.by_heartbeat(&heart, deadline, patience).await,
            None => self.by_applier(deadline).await,
        }
    }

    async fn look_at_state(&mut self, deadline: Instant) -> Result<(), Failure> {
        let new_connection = !self.line.has_connection();
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let sent = Instant::now();
            let told = match variables::ask(&mut open.connection, open.identity.flavor).await {
                Ok(variables) => {
                    let received = Instant::now();
                    let channels = channels::ask(&mut open.connection, open.identity.flavor).await;
                    channels.map(|channels| (variables, channels, open.identity.clone(), sent, received))
                }
                Err(error) => Err(error),
            };
            (open, told)
        });
        let (variables, channels, identity, sent, received) = asked.await?;
        if let Some(now) = variables.now {
            self.clock.looked(self.common.epoch, sent, received, now);
        }
        let state = channels::state(&channels);
        let told_before = self.seen.as_ref().is_none_or(|seen| seen.tells_transactions);
        self.seen = Some(Seen {
            flavor: identity.flavor,
            state: state.clone(),
            tells_transactions: new_connection || told_before,
        });
        let seen = ServerSeen {
            name: self.name.clone(),
            role: Role::Replica,
            id: identity.id,
            read_only: variables.read_only,
            flavor: identity.flavor,
            version: identity.version,
            replication: Some(state),
        };
        self.sightings.tell(seen, received, &self.common.outbox);
        Ok(())
    }

    async fn by_heartbeat(
        &mut self,
        heart: &Heart,
        deadline: Instant,
        patience: Duration,
    ) -> Result<(Reading, Instant, Option<Work>), Failure> {
        let settings = self.common.settings.clone();
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let Some(heartbeat) = &settings.heartbeat else { return (open, Ok(None)) };
            let row = row::ask(&mut open.connection, heartbeat).await;
            (open, row)
        });
        let sent = Instant::now();
        let row = asked.await?;
        let (reading, applied) = heart.read(row, &mut self.showed, sent, patience);
        Ok((reading, sent, applied))
    }

    async fn by_applier(&mut self, deadline: Instant) -> Result<(Reading, Instant, Option<Work>), Failure> {
        let sent = Instant::now();
        // As long as the primary's clock is not known, ages by it are not either: the server's own whole seconds are.
        if let Some(Seen { flavor: Flavor::Mysql, tells_transactions: true, .. }) = &self.seen
            && let Some(ahead) = self.ahead()
        {
            let asked = self.line.ask(deadline, |mut open: Open| async move {
                let workers = applier::ask(&mut open.connection).await;
                (open, workers)
            });
            match asked.await {
                Ok(workers) if !workers.is_empty() => return Ok((applier::lag(&workers, ahead), sent, None)),
                // Off, or not allowed: the statement may be.
                Ok(_) => self.no_transactions_told(),
                Err((_, Some(error))) if trouble::code(&error).is_some() => self.no_transactions_told(),
                Err(failure) => return Err(failure),
            }
        }
        let asked = self.line.ask(deadline, |mut open: Open| async move {
            let channels = seconds(&mut open).await;
            (open, channels)
        });
        Ok((channels::seconds_behind(&asked.await?), sent, None))
    }

    /// By how much this server's clock is ahead of the primary's, as seen from here.
    fn ahead(&self) -> Option<f64> {
        Some(self.clock.offset()? - (*self.common.primary_clock.borrow())?)
    }

    fn no_transactions_told(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.tells_transactions = false;
        }
    }
}

async fn seconds(open: &mut Open) -> mysql_async::Result<Vec<Channel>> {
    match open.identity.flavor {
        Flavor::Mysql => channels::show(&mut open.connection).await,
        Flavor::Mariadb => channels::ask(&mut open.connection, Flavor::Mariadb).await,
    }
}
