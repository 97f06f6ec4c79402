//! Whose fault it was, and what the client is told.

use std::io;

use wire::{Capabilities, ErrPacket};

use crate::counters::Counter;
use crate::login::our_uid::Unproven;
use crate::transport::is_stalled;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    Client,
    Upstream,
    Proxy,
    Policy,
}

/// An ERR of our own. Only what is built as one of these ever reaches a client.
///
/// Its code is always one of a server's. 2000 to 2999 are the client libraries' own: in an ERR libmariadb (since 3.3.9) takes
/// them for a malformed packet, and shows neither code nor text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: String,
}

impl ClientError {
    pub fn new(code: u16, sqlstate: &[u8; 5], message: impl Into<String>) -> ClientError {
        ClientError { code, sqlstate: *sqlstate, message: message.into() }
    }

    pub fn payload(&self, capabilities: Capabilities) -> Vec<u8> {
        ErrPacket::encode(self.code, &self.sqlstate, &self.message, capabilities)
    }

    pub fn too_many_connections() -> ClientError {
        ClientError::new(1040, b"08004", "Too many connections")
    }

    pub fn too_many_of(what: &str) -> ClientError {
        ClientError::new(1040, b"08004", format!("Too many connections of {what} [tollgate]"))
    }

    pub fn bad_handshake(detail: &str) -> ClientError {
        ClientError::new(1043, b"08S01", format!("Bad handshake: {detail} [tollgate]"))
    }

    pub fn login_timeout() -> ClientError {
        ClientError::new(
            1159,
            b"08S01",
            "Got timeout reading communication packets: the login took too long [tollgate]",
        )
    }

    pub fn secure_transport_required() -> ClientError {
        ClientError::new(
            3159,
            b"HY000",
            "Connections using insecure transport are prohibited: this listener requires TLS [tollgate]",
        )
    }

    pub fn old_client() -> ClientError {
        ClientError::new(
            1251,
            b"08004",
            "Client does not support authentication protocol requested by server; \
             it needs pluggable authentication (CLIENT_PLUGIN_AUTH) to log in through this proxy [tollgate]",
        )
    }

    pub fn clear_password() -> ClientError {
        ClientError::new(
            3159,
            b"HY000",
            "Connections using insecure transport are prohibited: mysql_clear_password is refused, because the connection from the proxy to the server is neither TLS nor a socket; \
             set upstream.tls [tollgate]",
        )
    }

    pub(crate) fn unproven(user: &[u8], why: Unproven) -> ClientError {
        let user = String::from_utf8_lossy(user);
        ClientError::new(1045, b"28000", format!("Access denied for user '{user}': {why} [tollgate]"))
    }

    pub fn upstream_unreachable(detail: &str) -> ClientError {
        ClientError::new(
            1429,
            b"HY000",
            format!(
                "Unable to connect to foreign data source: the MySQL server behind this proxy: {detail} [tollgate]"
            ),
        )
    }

    pub fn upstream_lacks(detail: &str) -> ClientError {
        ClientError::new(
            1043,
            b"08S01",
            format!(
                "Bad handshake: the MySQL server behind this proxy has changed and lacks {detail}; connect again [tollgate]"
            ),
        )
    }

    pub fn out_of_sync() -> ClientError {
        ClientError::new(1835, b"HY000", "Malformed communication packet from the server [tollgate]")
    }

    pub fn malformed_command(detail: &str) -> ClientError {
        ClientError::new(1835, b"HY000", format!("Malformed communication packet: {detail} [tollgate]"))
    }

    pub fn unknown_command() -> ClientError {
        ClientError::new(1047, b"08S01", "Unknown command")
    }

    pub fn shutdown() -> ClientError {
        ClientError::new(1053, b"08S01", "Server shutdown in progress")
    }

    pub fn interrupted() -> ClientError {
        ClientError::new(1317, b"70100", "Query execution was interrupted")
    }
}

/// Why a session ended, other than by COM_QUIT or the client's leaving while idle.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("the client left")]
    ClientGone,
    #[error("client: {0}")]
    ClientIo(io::Error),
    #[error("client: {0}")]
    ClientMalformed(&'static str),
    #[error("the upstream closed the connection")]
    UpstreamGone,
    #[error("upstream: {0}")]
    UpstreamIo(io::Error),
    #[error("upstream: {0}")]
    OutOfSync(#[from] wire::OutOfSync),
    #[error("ended by a drain")]
    Drained,
    #[error("cut at the end of a drain")]
    Cut,
}

impl SessionError {
    pub fn blame(&self) -> Blame {
        match self {
            SessionError::ClientGone | SessionError::ClientIo(_) | SessionError::ClientMalformed(_) => Blame::Client,
            SessionError::UpstreamGone | SessionError::UpstreamIo(_) | SessionError::OutOfSync(_) => Blame::Upstream,
            SessionError::Drained | SessionError::Cut => Blame::Proxy,
        }
    }

    /// What the client is told, where it can still be told anything.
    pub fn client_error(&self) -> Option<ClientError> {
        match self {
            SessionError::ClientGone | SessionError::ClientIo(_) => None,
            SessionError::ClientMalformed(detail) => Some(ClientError::malformed_command(detail)),
            // A close, of which the client's library makes its own 2013, as without a proxy: what retries or drops a
            // connection looks for that. In an ERR a library's own code is malformed to libmariadb (since 3.3.9): it
            // says 2027, and keeps the connection.
            SessionError::UpstreamGone | SessionError::UpstreamIo(_) => None,
            SessionError::OutOfSync(_) => Some(ClientError::out_of_sync()),
            SessionError::Drained | SessionError::Cut => Some(ClientError::shutdown()),
        }
    }

    pub fn counter(&self) -> Option<Counter> {
        match self {
            SessionError::ClientIo(error) if is_stalled(error) => Some(Counter::ClientStalled),
            // Counted where it is known what the client was doing.
            SessionError::ClientGone | SessionError::ClientIo(_) => None,
            SessionError::ClientMalformed(_) => Some(Counter::ClientMalformed),
            SessionError::UpstreamIo(error) if is_stalled(error) => Some(Counter::UpstreamStalled),
            SessionError::UpstreamGone | SessionError::UpstreamIo(_) => Some(Counter::UpstreamLost),
            SessionError::OutOfSync(_) => Some(Counter::UpstreamMalformed),
            SessionError::Drained => Some(Counter::Drained),
            SessionError::Cut => Some(Counter::Cut),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_is_one_of_the_client_libraries_own() {
        let all = [
            ClientError::too_many_connections(),
            ClientError::too_many_of("x"),
            ClientError::bad_handshake("x"),
            ClientError::login_timeout(),
            ClientError::secure_transport_required(),
            ClientError::old_client(),
            ClientError::clear_password(),
            ClientError::unproven(b"x", Unproven::NotAsked),
            ClientError::upstream_unreachable("x"),
            ClientError::upstream_lacks("x"),
            ClientError::out_of_sync(),
            ClientError::malformed_command("x"),
            ClientError::unknown_command(),
            ClientError::shutdown(),
            ClientError::interrupted(),
        ];
        for error in all {
            assert!(!(2000..3000).contains(&error.code), "{error:?}");
        }
    }
}
