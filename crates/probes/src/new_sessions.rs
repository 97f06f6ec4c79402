//! What the server does to a session before its first statement.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::sync::watch;

use crate::complaints::Complaints;
use crate::connector::Connector;
use crate::line::{Line, Open};
use crate::settings::{Endpoint, Login};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Settings of the server that change a session without a statement of its client, as sentences. The proxy cannot see what they set.
pub async fn hidden_session_settings(upstream: &Endpoint, login: &Login) -> Result<Vec<String>, String> {
    let asked = async {
        let mut connection = Connector::new(upstream, login).connect(None).await?;
        let found = ask(&mut connection).await?;
        connection.disconnect().await?;
        Ok::<_, mysql_async::Error>(found)
    };
    asked.await.map_err(|error| error.to_string())
}

/// Looks again and again for as long as it is polled. `None`: not known yet; the last answer stays while the server gives none.
pub async fn watch_session_settings(
    upstream: Endpoint,
    login: Login,
    interval: Duration,
    sender: watch::Sender<Option<Vec<String>>>,
) -> Infallible {
    let mut line = Line::new(Connector::new(&upstream, &login), TIMEOUT).renewed(true);
    let mut complaints = Complaints::new(format!("what {} does to new sessions cannot be read", upstream.name()));
    loop {
        let begun = Instant::now();
        let asked = line.ask(begun + TIMEOUT, |mut open: Open| async move {
            let found = ask(&mut open.connection).await;
            (open, found)
        });
        match asked.await {
            Ok(found) => {
                complaints.fine();
                sender.send_if_modified(|known| {
                    let found = Some(found);
                    let is_new = *known != found;
                    *known = found;
                    is_new
                });
            }
            Err((why, error)) => complaints.failed(why, error.as_ref()),
        }
        tokio::time::sleep_until((begun + interval).into()).await;
    }
}

async fn ask(connection: &mut Conn) -> mysql_async::Result<Vec<String>> {
    let row: Option<(String, String)> =
        connection.query_first("SELECT @@GLOBAL.init_connect, @@SESSION.character_set_client").await?;
    let (init_connect, charset) = row.unwrap_or_default();
    let mut found = Vec::new();
    if !init_connect.trim().is_empty() {
        found.push(format!("init_connect is set to `{init_connect}`"));
    }
    // The driver asks for utf8mb4.
    if charset != "utf8mb4" {
        found.push(format!("logins get the character set {charset}, whichever they ask for"));
    }
    Ok(found)
}
