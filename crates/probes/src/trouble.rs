//! What an error of the driver says about the server.

use std::io::ErrorKind;

use health::Unknown;
use mysql_async::{Error, IoError};

/// Not let in, or not allowed: a grant is missing, and asking again will not help.
const DENIED: &[u16] = &[
    1044, // no access to the schema
    1045, // wrong user or password
    1129, // the host is blocked
    1130, // the host may not connect
    1142, // a table's privilege is missing
    1143, // a column's
    1227, // a global one
    1370, // a routine's
    1698, // the account logs in otherwise
    1820, // the password must be changed first
    1862, // the password has expired
    3118, // the account is locked
];

/// The server gave up before we did.
const TOO_LATE: &[u16] = &[
    1205, // a lock was not to be had in time
    1969, // max_statement_time
    3024, // max_execution_time
];

pub(crate) fn unknown(error: &Error) -> Unknown {
    match error {
        Error::Server(error) if DENIED.contains(&error.code) => Unknown::Denied,
        Error::Server(error) if TOO_LATE.contains(&error.code) => Unknown::TimedOut,
        Error::Server(_) => Unknown::Failed,
        Error::Io(IoError::Io(error)) if error.kind() == ErrorKind::TimedOut => Unknown::TimedOut,
        // The driver's own way to say that the bytes make no sense, or are too many.
        Error::Io(IoError::Io(error)) if matches!(error.kind(), ErrorKind::Other | ErrorKind::InvalidData) => {
            Unknown::Failed
        }
        // Refused, no route, no such name or socket, or cut off while it was asked.
        Error::Io(IoError::Io(_)) => Unknown::Unreachable,
        Error::Driver(mysql_async::DriverError::ConnectionClosed) => Unknown::Unreachable,
        Error::Io(IoError::Tls(_)) | Error::Driver(_) | Error::Other(_) | Error::Url(_) => Unknown::Failed,
    }
}

pub(crate) fn code(error: &Error) -> Option<u16> {
    match error {
        Error::Server(error) => Some(error.code),
        Error::Driver(_) | Error::Io(_) | Error::Other(_) | Error::Url(_) => None,
    }
}

/// The server does not know these words: it is older, or of another make.
pub(crate) fn is_syntax(error: &Error) -> bool {
    matches!(code(error), Some(1064))
}

#[cfg(test)]
mod tests {
    use std::io;

    use mysql_async::ServerError;

    use super::*;

    #[test]
    fn each_error_has_its_reason() {
        let server = |code| Error::Server(ServerError { code, message: String::new(), state: "HY000".into() });
        let from_io = |kind: io::ErrorKind| Error::Io(IoError::Io(kind.into()));
        for (error, reason) in [
            (server(1045), Unknown::Denied),
            (server(1142), Unknown::Denied),
            (server(1227), Unknown::Denied),
            (server(1698), Unknown::Denied),
            (server(3024), Unknown::TimedOut),
            (server(1205), Unknown::TimedOut),
            (server(1040), Unknown::Failed),
            (server(1290), Unknown::Failed),
            (from_io(io::ErrorKind::ConnectionRefused), Unknown::Unreachable),
            (from_io(io::ErrorKind::HostUnreachable), Unknown::Unreachable),
            (from_io(io::ErrorKind::NotFound), Unknown::Unreachable),
            (from_io(io::ErrorKind::UnexpectedEof), Unknown::Unreachable),
            (from_io(io::ErrorKind::TimedOut), Unknown::TimedOut),
            (from_io(io::ErrorKind::Other), Unknown::Failed),
            (Error::Driver(mysql_async::DriverError::ConnectionClosed), Unknown::Unreachable),
        ] {
            assert_eq!(unknown(&error), reason, "{error}");
        }
    }
}
