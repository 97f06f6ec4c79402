//! Who follows the primary, as the primary knows.

use std::time::{Duration, Instant};

use health::Unknown;
use mysql_async::Conn;
use tokio::sync::watch;

use crate::complaints::Complaints;
use crate::line::{Line, Open};
use crate::rows::{TextRow, rows};
use crate::server::Flavor;
use crate::settings::{Address, Endpoint};
use crate::trouble::is_syntax;

const AGAIN: Duration = Duration::from_secs(10);
/// A primary that was made one a moment ago gains its replicas one by one: so often it is asked again soon.
const SOON: Duration = Duration::from_secs(1);
const OFTEN: u32 = 30;
/// A primary has a few; a list that is longer is not asked through.
const MOST: usize = 64;

pub(crate) struct Discovery {
    primary: Endpoint,
    found: watch::Sender<Found>,
    after: Option<Instant>,
    /// So many more times it is asked again soon.
    soon: u32,
    complaints: Complaints,
}

/// Who follows whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The primary that told, by its id.
    pub(crate) of: String,
    pub(crate) replicas: Vec<Endpoint>,
}

/// What the primary told, before it is made sense of.
#[derive(Debug, Default, PartialEq)]
struct Told {
    /// SHOW REPLICAS: whoever set `report_host`.
    listed: Vec<TextRow>,
    /// The group's members.
    members: Vec<TextRow>,
    /// Hosts that fetch the binlog, without their servers' ports.
    fetching: Vec<TextRow>,
    own_id: String,
}

impl Discovery {
    pub(crate) fn new(primary: Endpoint, found: watch::Sender<Found>) -> Discovery {
        let complaints = Complaints::new("the primary does not tell its replicas");
        Discovery { primary, found, after: None, soon: 0, complaints }
    }

    /// Another primary: it is asked at once, and often while its replicas turn to it.
    pub(crate) fn start_anew(&mut self) {
        self.after = None;
        self.soon = OFTEN;
    }

    /// If it is time. A look that fails leaves the list as it is.
    pub(crate) async fn look(&mut self, line: &mut Line, timeout: Duration) {
        let now = Instant::now();
        if self.after.is_some_and(|time| now < time) {
            return;
        }
        let asked = line.ask(now + timeout, |mut open: Open| async move {
            let told = ask(&mut open.connection, open.identity.flavor, &open.identity.id).await;
            (open, told)
        });
        match asked.await {
            Ok(told) => {
                self.complaints.fine();
                self.after = Some(now + if self.soon > 0 { SOON } else { AGAIN });
                self.soon = self.soon.saturating_sub(1);
                let addresses = addresses(&told, &self.primary.address).into_iter();
                let replicas = addresses.map(|address| self.primary.beside(address)).collect();
                self.found.send_replace(Found { of: told.own_id, replicas });
            }
            Err((why, error)) => {
                self.complaints.failed(why, error.as_ref());
                // A privilege is not granted within a second.
                self.after = (why == Unknown::Denied).then(|| now + AGAIN);
            }
        }
    }
}

async fn ask(connection: &mut Conn, flavor: Flavor, own_id: &str) -> mysql_async::Result<Told> {
    let mut told = Told { own_id: own_id.to_owned(), ..Told::default() };
    if flavor == Flavor::Mysql {
        // Most servers are in no group, and not every user may ask.
        let sql = "SELECT MEMBER_ID, MEMBER_HOST, MEMBER_PORT, MEMBER_STATE FROM performance_schema.replication_group_members";
        told.members = if_told(rows(connection, sql).await)?;
    }
    let denied = match rows(connection, "SHOW REPLICAS").await {
        Err(error) if is_syntax(&error) => rows(connection, "SHOW SLAVE HOSTS").await,
        listed => listed,
    };
    let denied = match denied {
        Ok(listed) => {
            told.listed = listed;
            None
        }
        Err(error) if error.is_fatal() => return Err(error),
        Err(error) => Some(error),
    };
    if told.members.is_empty() && told.listed.iter().all(|row| row.text(&["Host"]).is_empty()) {
        // Not information_schema.processlist, which stops the server's threads while it is read.
        let sql = "SELECT PROCESSLIST_HOST AS Host FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'";
        told.fetching = if_told(rows(connection, sql).await)?;
    }
    match denied {
        Some(error) if told.members.is_empty() && told.fetching.is_empty() => Err(error),
        _ => Ok(told),
    }
}

/// A refusal is an empty answer; a broken connection is not.
fn if_told(answer: mysql_async::Result<Vec<TextRow>>) -> mysql_async::Result<Vec<TextRow>> {
    match answer {
        Err(error) if !error.is_fatal() => Ok(Vec::new()),
        answer => answer,
    }
}

fn addresses(told: &Told, primary: &Address) -> Vec<Address> {
    let own_port = match primary {
        Address::Tcp { port, .. } => *port,
        Address::Socket(_) => 3306,
    };
    let address = |row: &TextRow, host: &str, port: &str| {
        let host = row.column(&[host]).filter(|host| !host.is_empty())?.to_owned();
        let port = row.column(&[port]).and_then(|port| port.parse().ok()).filter(|port| *port != 0).unwrap_or(own_port);
        Some(Address::Tcp { host, port })
    };
    let members = told
        .members
        .iter()
        .filter(|row| row.text(&["MEMBER_STATE"]) == "ONLINE" && row.text(&["MEMBER_ID"]) != told.own_id);
    let mut addresses: Vec<Address> = members
        .filter_map(|row| address(row, "MEMBER_HOST", "MEMBER_PORT"))
        .chain(told.listed.iter().filter_map(|row| address(row, "Host", "Port")))
        .collect();
    if addresses.is_empty() {
        // Its server's port is not told: most servers of a cluster have the same.
        addresses.extend(told.fetching.iter().filter_map(|row| address(row, "Host", "")));
    }
    let mut known = std::collections::HashSet::new();
    addresses.retain(|address| known.insert(address.clone()));
    addresses.truncate(MOST);
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: &[(&str, &str)]) -> TextRow {
        TextRow(columns.iter().map(|(name, text)| (name.to_string(), Some(text.to_string()))).collect())
    }

    fn names(told: &Told) -> Vec<String> {
        let primary = Address::Tcp { host: "db".into(), port: 3310 };
        addresses(told, &primary).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn those_who_say_their_address_are_listed() {
        let listed = vec![
            row(&[("Server_Id", "2"), ("Host", "r1"), ("Port", "3307")]),
            row(&[("Server_Id", "3"), ("Host", ""), ("Port", "3306")]),
            row(&[("Server_Id", "4"), ("Host", "r4"), ("Port", "0")]),
            row(&[("Server_Id", "5"), ("Host", "r1"), ("Port", "3307")]),
        ];
        assert_eq!(names(&Told { listed, ..Told::default() }), ["r1:3307", "r4:3310"]);
    }

    #[test]
    fn those_who_do_not_are_guessed_by_who_fetches_the_binlog() {
        let told = Told {
            listed: vec![row(&[("Host", ""), ("Port", "3306")])],
            fetching: vec![row(&[("Host", "10.0.0.8")]), row(&[("Host", "10.0.0.9")]), row(&[("Host", "10.0.0.8")])],
            ..Told::default()
        };
        assert_eq!(names(&told), ["10.0.0.8:3310", "10.0.0.9:3310"]);
    }

    #[test]
    fn the_members_of_a_group_follow_its_primary() {
        let member = |id, host, state| {
            row(&[("MEMBER_ID", id), ("MEMBER_HOST", host), ("MEMBER_PORT", "3306"), ("MEMBER_STATE", state)])
        };
        let told = Told {
            members: vec![member("a", "m1", "ONLINE"), member("b", "m2", "ONLINE"), member("c", "m3", "RECOVERING")],
            listed: vec![row(&[("Host", "async"), ("Port", "3306")])],
            own_id: "a".into(),
            ..Told::default()
        };
        assert_eq!(names(&told), ["m2:3306", "async:3306"]);
    }
}
