//! What the server does to a session before its first statement.

use mysql_async::prelude::Queryable;

use crate::connector::Connector;
use crate::settings::{Endpoint, Login};

/// Settings of the server that change a session without a statement of its client, as sentences. The proxy cannot see what they set.
pub async fn hidden_session_settings(upstream: &Endpoint, login: &Login) -> Result<Vec<String>, String> {
    let asked = async {
        let mut connection = Connector::new(upstream, login).connect(None).await?;
        let row: Option<(String, String)> =
            connection.query_first("SELECT @@GLOBAL.init_connect, @@SESSION.character_set_client").await?;
        connection.disconnect().await?;
        Ok::<_, mysql_async::Error>(row.unwrap_or_default())
    };
    let (init_connect, charset) = asked.await.map_err(|error| error.to_string())?;
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
