//! What each client asked and got, for the log: once a minute, and at the end.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use admission::Gatekeeper;
use admission::stats::Counted;
use tracing::{error, info};

/// How often what each client got is logged.
const EVERY: Duration = Duration::from_secs(60);

/// Lines in one report; the busiest clients come first.
const MOST: usize = 50;

#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What was counted when it was last logged.
    last: HashMap<(Vec<u8>, String), Counted>,
    /// And when that was, or when its first minute began.
    logged: Option<Instant>,
    /// Troubles that were logged.
    said: HashSet<String>,
}

impl Report {
    /// To be called often.
    pub(crate) fn log_each_minute(&mut self, keeper: &Gatekeeper, now: Instant) {
        let since = *self.logged.get_or_insert(now);
        if now.saturating_duration_since(since) >= EVERY {
            self.logged = Some(now);
            self.log(keeper);
        }
    }

    /// Logs what has been counted since the last time.
    pub(crate) fn log(&mut self, keeper: &Gatekeeper) {
        let mut lines = Vec::new();
        let mut now = HashMap::new();
        for (client, counted) in keeper.clients() {
            let key = (client.user.as_deref().unwrap_or_default().to_vec(), client.name.to_string());
            let before = self.last.get(&key).map_or(0, |before| before.seen);
            if counted.seen > before {
                lines.push((counted.seen - before, key.clone()));
            }
            now.insert(key, counted);
        }
        lines.sort_by_key(|(seen, _)| std::cmp::Reverse(*seen));
        for (_, key) in lines.iter().take(MOST) {
            let (Some(counted), before) = (now.get(key), self.last.get(key)) else { continue };
            line(key, counted, before);
        }
        if lines.len() > MOST {
            info!(clients = lines.len() - MOST, "and more clients");
        }
        self.last = now;
    }

    /// A trouble that lasts is logged once.
    pub(crate) fn once(&mut self, trouble: &str) {
        if self.said.len() < 100 && self.said.insert(trouble.to_owned()) {
            error!("{trouble}");
        }
    }
}

fn line(key: &(Vec<u8>, String), counted: &Counted, before: Option<&Counted>) {
    let zero = Counted::default();
    let before = before.unwrap_or(&zero);
    let by_rule: Vec<String> = counted
        .by_rule
        .iter()
        .map(|(rule, reason, effect, count)| format!("{rule}/{reason}/{}={count}", effect.as_str()))
        .collect();
    info!(
        client = key.1,
        user = %String::from_utf8_lossy(&key.0),
        seen = counted.seen - before.seen,
        passed = counted.passed.saturating_sub(before.passed),
        held = counted.held.saturating_sub(before.held),
        rejected = counted.rejected.saturating_sub(before.rejected),
        warned = counted.warned.saturating_sub(before.warned),
        hold_ms = counted.hold_time.saturating_sub(before.hold_time).as_millis() as u64,
        waiting = counted.waiting,
        total_by_rule = by_rule.join(" "),
        "client"
    );
}
