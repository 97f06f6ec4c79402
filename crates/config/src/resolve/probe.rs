//! The proxy's own user, and what it is for.

use super::Resolver;
use crate::plan::{Heartbeat, Probe};
use crate::raw::RawProbe;
use crate::tree::At;
use crate::value::RawHeartbeat;

impl Resolver<'_> {
    pub(super) fn probe(&mut self, raw: RawProbe) -> Option<Probe> {
        let others = [
            ("probe.heartbeat", raw.heartbeat.is_some()),
            ("probe.timeout", raw.timeout.is_some()),
            ("probe.idle_interval", raw.idle_interval.is_some()),
            ("probe.idle_after", raw.idle_after.is_some()),
            ("probe.catalogue_interval", raw.catalogue_interval.is_some()),
        ];
        let heartbeat = raw.heartbeat.and_then(|heartbeat| self.heartbeat(heartbeat));
        let (user, password) = match (raw.user, raw.password) {
            (Some(user), Some(password)) => (user.0, self.secret("probe.password", password)?),
            (Some(_), None) => {
                let remedy = "add `password: \"env:TOLLGATE_PROBE_PASSWORD\"`, or `file:…`, or the password in quotes";
                self.refuse("probe.password", At::Key, "the probe's password is missing", remedy);
                return None;
            }
            (None, Some(_)) => {
                self.refuse("probe.user", At::Key, "the probe's user is missing", "add `user: tollgate`");
                return None;
            }
            (None, None) => {
                for (key, _) in others.into_iter().filter(|(_, written)| *written) {
                    let remedy = "add `user: tollgate` and `password: \"env:TOLLGATE_PROBE_PASSWORD\"`, or take it out";
                    self.refuse(key, At::Key, "this does nothing without the probe's user", remedy);
                }
                return None;
            }
        };
        Some(Probe {
            user,
            password,
            heartbeat,
            timeout: raw.timeout.map_or(Probe::TIMEOUT, |span| span.0),
            idle_interval: raw.idle_interval.map_or(Probe::IDLE_INTERVAL, |span| span.0),
            idle_after: raw.idle_after.map_or(Probe::IDLE_AFTER, |span| span.0),
            catalogue_interval: raw.catalogue_interval.map_or(Probe::CATALOGUE_INTERVAL, |span| span.0),
        })
    }

    fn heartbeat(&mut self, raw: RawHeartbeat) -> Option<Heartbeat> {
        let Some(table) = raw.table else {
            let remedy = "add `table: tollgate.heartbeat`";
            self.refuse("probe.heartbeat.table", At::Key, "the heartbeat's table is missing", remedy);
            return None;
        };
        Some(Heartbeat { table: table.0, create: raw.create.unwrap_or_default() })
    }
}
