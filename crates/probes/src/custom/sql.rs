//! Custom SQL, on a connection of its own that can write nothing. One statement after the other: one that hangs holds up
//! the others of its server by its own deadline, and never the built-in sample.

use std::collections::HashMap;
use std::time::Instant;

use health::{Reading, Unknown};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};

use super::{Ask, Next, On, Schedule, number};
use crate::complaints::Complaints;
use crate::connector::Connector;
use crate::line::{Line, Open};
use crate::rows::text;
use crate::run::Common;
use crate::settings::Endpoint;

/// It only looks, and what it looks at is small.
const SESSION: &[&str] = &["SET SESSION TRANSACTION READ ONLY", "SET SESSION sql_select_limit=2"];

pub(crate) async fn run(common: Common, endpoint: Endpoint, on: On) {
    let name = endpoint.name();
    let wanted = |ask: &Ask, on: On| matches!(ask, Ask::Sql { on: there, .. } if *there == on);
    let mut schedule = Schedule::new(common.custom.clone(), common.pace.clone(), on, wanted);
    let line = |schedule: &Schedule| {
        let connector = Connector::new(&endpoint, &common.settings.login);
        Line::new(connector, schedule.longest_timeout()).renewed(endpoint.address.is_a_name()).with(SESSION)
    };
    // Opened at the first question.
    let mut current = line(&schedule);
    let mut limit = schedule.longest_timeout();
    let mut complaints = HashMap::new();
    loop {
        let metric = match schedule.next().await {
            Next::Ask(metric) => metric,
            Next::Replaced => {
                if schedule.longest_timeout() != limit {
                    limit = schedule.longest_timeout();
                    current = line(&schedule);
                }
                complaints.clear();
                continue;
            }
        };
        let Ask::Sql { sql, .. } = metric.ask else { continue };
        if current.rests() {
            continue;
        }
        let sent = Instant::now();
        let asked = current.ask(sent + metric.timeout, |mut open: Open| async move {
            let reading = ask(&mut open.connection, &sql).await;
            (open, reading)
        });
        let complaints = complaints
            .entry(metric.name.clone())
            .or_insert_with(|| Complaints::new(format!("the metric {} cannot be measured on {name}", metric.name)));
        let reading = match asked.await {
            // The server has ended it, at the same time as we: some functions then give a number (SLEEP 1, BENCHMARK 0).
            Ok(_) if sent.elapsed() >= metric.timeout => {
                complaints.failed(Unknown::TimedOut, None);
                Reading::Unknown(Unknown::TimedOut)
            }
            Ok(reading) => {
                complaints.fine();
                reading
            }
            Err((why, error)) => {
                complaints.failed(why, error.as_ref());
                Reading::Unknown(why)
            }
        };
        common.outbox.report(metric.name, &name, reading, sent, None);
    }
}

/// One row of one column, or it is no answer.
async fn ask(connection: &mut Conn, sql: &str) -> mysql_async::Result<Reading> {
    let mut result = connection.query_iter(sql).await?;
    let columns = result.columns().map_or(0, |columns| columns.len());
    let rows: Vec<Row> = result.collect().await?;
    let more = !result.is_empty();
    result.drop_result().await?;
    Ok(match rows.as_slice() {
        _ if columns > 1 || more => Reading::Unknown(Unknown::SeveralRows),
        [] => Reading::Unknown(Unknown::NoRow),
        [row] => match row.as_ref(0).and_then(text) {
            Some(text) => number::parse(&text),
            None => Reading::Unknown(Unknown::Null),
        },
        [_, _, ..] => Reading::Unknown(Unknown::SeveralRows),
    })
}
