//! MySQL or MariaDB.

use std::fmt;

/// Which of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    Mysql,
    Mariadb,
}

impl Flavor {
    /// The word used in file names and environment variables.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
        }
    }

    /// The server's program.
    pub fn server_program(self) -> &'static str {
        match self {
            Self::Mysql => "mysqld",
            Self::Mariadb => "mariadbd",
        }
    }

    /// The interactive client's program.
    pub fn client_program(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Mariadb => "mariadb",
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mysql => "MySQL",
            Self::Mariadb => "MariaDB",
        })
    }
}
