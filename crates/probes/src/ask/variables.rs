//! What a server is set to, and what its clock says.

use mysql_async::Conn;

use crate::rows::{TextRow, prepared};
use crate::server::Flavor;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Variables {
    pub(crate) read_only: bool,
    pub(crate) most_connections: Option<f64>,
    /// Seconds since 1970, by the server.
    pub(crate) now: Option<f64>,
}

pub(crate) async fn ask(connection: &mut Conn, flavor: Flavor) -> mysql_async::Result<Variables> {
    let sql = match flavor {
        Flavor::Mysql => {
            "SELECT @@global.read_only AS read_only, @@global.super_read_only AS super_read_only, \
             @@global.max_connections AS max_connections, UNIX_TIMESTAMP(NOW(6)) AS now"
        }
        Flavor::Mariadb => {
            "SELECT @@global.read_only AS read_only, @@global.max_connections AS max_connections, \
             UNIX_TIMESTAMP(NOW(6)) AS now"
        }
    };
    Ok(Variables::of(&prepared(connection, sql).await?.pop().unwrap_or_default()))
}

impl Variables {
    pub(crate) fn of(row: &TextRow) -> Variables {
        Variables {
            read_only: is_on(row.text(&["read_only"])) || is_on(row.text(&["super_read_only"])),
            most_connections: row.number(&["max_connections"]),
            now: row.number(&["now"]),
        }
    }
}

/// From MariaDB 12 on `read_only` has words for several kinds of it.
pub(crate) fn is_on(value: &str) -> bool {
    !matches!(value, "" | "0") && !value.eq_ignore_ascii_case("off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_in_all_its_words() {
        for (value, on) in
            [("0", false), ("1", true), ("OFF", false), ("ON", true), ("NO_LOCK_NO_ADMIN", true), ("", false)]
        {
            let row = TextRow(vec![("read_only".into(), Some(value.into()))]);
            assert_eq!(Variables::of(&row).read_only, on, "{value}");
        }
        let row = TextRow(vec![
            ("read_only".into(), Some("0".into())),
            ("super_read_only".into(), Some("1".into())),
            ("now".into(), None),
        ]);
        assert_eq!(Variables::of(&row), Variables { read_only: true, most_connections: None, now: None });
    }
}
