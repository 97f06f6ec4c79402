//! The load of this machine, where the upstream runs on it.

use std::time::Instant;

use health::{BuiltIn, Reading, ServerName, Unknown};
use tokio::sync::watch;

use crate::event::Outbox;
use crate::pace::{Pace, Ticker};
use crate::settings::Host;

/// At the pace of the primary's status, and beside it: no server is asked.
pub(crate) async fn run(host: Host, pace: watch::Receiver<Pace>, outbox: Outbox) {
    let name: ServerName = "host".into();
    let mut ticker = Ticker::new(pace, |pace| pace.status);
    loop {
        ticker.tick().await;
        outbox.metric(BuiltIn::LoadAverage, &name, load_average(host), Instant::now());
    }
}

fn load_average(host: Host) -> Reading {
    match host {
        Host::Elsewhere => Reading::Unknown(Unknown::Unsupported),
        Host::Here => {
            std::fs::read_to_string("/proc/loadavg").map_or(Reading::Unknown(Unknown::Unsupported), |text| parse(&text))
        }
    }
}

/// The first of the three: over the last minute.
fn parse(text: &str) -> Reading {
    let minute = text.split_whitespace().next().and_then(|number| number.parse().ok());
    minute.map_or(Reading::Unknown(Unknown::NotANumber), Reading::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_minute_is_read() {
        for (text, reading) in [
            ("0.52 0.58 0.59 1/1024 12345\n", Reading::Value(0.52)),
            ("", Reading::Unknown(Unknown::NotANumber)),
            ("busy", Reading::Unknown(Unknown::NotANumber)),
        ] {
            assert_eq!(parse(text), reading);
        }
    }
}
