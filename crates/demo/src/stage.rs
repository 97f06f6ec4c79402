//! The gate's story, as it goes on: turns the parts, and notes what was seen in each.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::chart::{Chart, Column, WIDTH};
use crate::clients::Clients;
use crate::figures::{Reading, Span};
use crate::lag::LagMeter;
use crate::parts::{Part, Parts};
use crate::proxy_process::THRESHOLD;
use crate::servers::Servers;
use crate::slow_replica;

/// Under this part of the threshold the replica has caught up.
const CAUGHT_UP: f64 = 0.2;
/// What a column of the chart is, if the whole show fits into the chart then.
const COLUMN: Duration = Duration::from_millis(250);
/// Otherwise.
const LONG_COLUMN: Duration = Duration::from_millis(800);

#[derive(Debug)]
pub(crate) struct Stage {
    parts: Parts,
    meter: LagMeter,
    pub(crate) chart: Chart,
    lags: Vec<Duration>,
    seen: Vec<Seen>,
}

/// What was seen in one part.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) part: Part,
    pub(crate) lags: Vec<Duration>,
    pub(crate) foreground: Reading,
    pub(crate) job: Reading,
}

impl Stage {
    pub(crate) fn open(servers: &Servers, limit: Option<Duration>) -> Stage {
        Stage {
            parts: Parts::new(limit, Instant::now()),
            meter: LagMeter::start(servers),
            chart: Chart::new(THRESHOLD),
            lags: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Between two looks.
    pub(crate) fn column(limit: Option<Duration>) -> Duration {
        let columns = u32::try_from(WIDTH).unwrap_or(1);
        if limit.is_some_and(|limit| limit <= COLUMN * columns) { COLUMN } else { LONG_COLUMN }
    }

    pub(crate) fn part(&self) -> Part {
        self.parts.part()
    }

    /// A moment later.
    pub(crate) fn look(&mut self, clients: &Clients) {
        let lags = self.meter.take();
        let foreground = clients.foreground(Span::Column);
        let p99 = (foreground.queries > 0).then_some(foreground.p99);
        self.chart.add(Column { lag: lags.iter().max().copied(), p99, part: self.part() });
        self.lags.extend(lags);
    }

    /// To the next part, if it is time.
    pub(crate) async fn turn(&mut self, clients: &Clients, servers: &mut Servers) -> Result<()> {
        let caught_up = self.chart.lag().is_some_and(|lag| lag < THRESHOLD.mul_f64(CAUGHT_UP));
        let before = self.part();
        let Some(part) = self.parts.turn(Instant::now(), caught_up, servers.proxy.is_up_to_date()) else {
            return Ok(());
        };
        self.note(before, clients);
        clients.job_works(part.job_works());
        let replica = servers.cluster.replica.address();
        match part {
            Part::CatchingUp(next) => {
                servers.proxy.set_gate(next)?;
                slow_replica::set(replica, Duration::ZERO).await
            }
            Part::Warned | Part::Enforced => slow_replica::set(replica, slow_replica::ROW_TAKES).await,
        }
    }

    fn note(&mut self, part: Part, clients: &Clients) {
        let lags = std::mem::take(&mut self.lags);
        let (foreground, job) = (clients.foreground(Span::Part), clients.job(Span::Part));
        self.seen.push(Seen { part, lags, foreground, job });
    }

    /// What was seen; and nobody has to wait for the replica any more.
    pub(crate) async fn close(mut self, clients: &Clients, servers: &Servers) -> Result<Vec<Seen>> {
        self.note(self.part(), clients);
        clients.job_works(false);
        slow_replica::set(servers.cluster.replica.address(), Duration::ZERO).await?;
        Ok(self.seen)
    }
}
