bitflags::bitflags! {
    /// What both ends can do: MySQL's 32 bits (the CLIENT_ names without their prefix) and, above them, MariaDB's extended
    /// ones, which travel in a field of their own. Bits that we have no name for are kept.
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/group__group__cs__capabilities__flags.html>,
    /// <https://mariadb.com/kb/en/connection/#capabilities>
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct Capabilities: u64 {
        /// MariaDB calls it CLIENT_MYSQL: an end that leaves it out sends MariaDB's extended capabilities.
        const LONG_PASSWORD = 1;
        const FOUND_ROWS = 1 << 1;
        const LONG_FLAG = 1 << 2;
        const CONNECT_WITH_DB = 1 << 3;
        const NO_SCHEMA = 1 << 4;
        const COMPRESS = 1 << 5;
        const ODBC = 1 << 6;
        const LOCAL_FILES = 1 << 7;
        const IGNORE_SPACE = 1 << 8;
        const PROTOCOL_41 = 1 << 9;
        const INTERACTIVE = 1 << 10;
        const SSL = 1 << 11;
        const IGNORE_SIGPIPE = 1 << 12;
        const TRANSACTIONS = 1 << 13;
        const RESERVED = 1 << 14;
        /// MySQL 8 calls it RESERVED2.
        const SECURE_CONNECTION = 1 << 15;
        const MULTI_STATEMENTS = 1 << 16;
        const MULTI_RESULTS = 1 << 17;
        const PS_MULTI_RESULTS = 1 << 18;
        const PLUGIN_AUTH = 1 << 19;
        const CONNECT_ATTRS = 1 << 20;
        const PLUGIN_AUTH_LENENC_DATA = 1 << 21;
        const CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
        const SESSION_TRACK = 1 << 23;
        const DEPRECATE_EOF = 1 << 24;
        const OPTIONAL_RESULTSET_METADATA = 1 << 25;
        const ZSTD_COMPRESSION = 1 << 26;
        const QUERY_ATTRIBUTES = 1 << 27;
        const MULTI_FACTOR_AUTHENTICATION = 1 << 28;
        /// MariaDB once used it for progress reports.
        const CAPABILITY_EXTENSION = 1 << 29;
        const SSL_VERIFY_SERVER_CERT = 1 << 30;
        const REMEMBER_OPTIONS = 1 << 31;

        const MARIADB_PROGRESS = 1 << 32;
        const MARIADB_COM_MULTI = 1 << 33;
        const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
        const MARIADB_EXTENDED_METADATA = 1 << 35;
        const MARIADB_CACHE_METADATA = 1 << 36;
        const MARIADB_BULK_UNIT_RESULTS = 1 << 37;
    }
}

impl Capabilities {
    /// From the two fields of a greeting or login request. The extended ones count only from an end that says it is MariaDB's.
    pub(crate) fn from_fields(mysql: u32, extended: [u8; 4]) -> Self {
        let mysql = Self::from_bits_retain(mysql.into());
        if mysql.contains(Self::LONG_PASSWORD) {
            return mysql;
        }
        mysql | Self::from_bits_retain(u64::from(u32::from_le_bytes(extended)) << 32)
    }

    /// The lower and the upper half, each as it is sent.
    pub(crate) fn halves(self) -> ([u8; 4], [u8; 4]) {
        let [a, b, c, d, e, f, g, h] = self.bits().to_le_bytes();
        ([a, b, c, d], [e, f, g, h])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_capabilities_need_a_cleared_first_bit_and_unknown_bits_survive() {
        let mariadb = Capabilities::from_fields(0x8000_0200, [0x5C, 0, 0, 0x80]);
        assert!(mariadb.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_CACHE_METADATA));
        assert_eq!(mariadb.halves(), ([0, 2, 0, 0x80], [0x5C, 0, 0, 0x80]));
        assert_eq!(Capabilities::from_fields(0x201, [0xFF; 4]).halves(), ([1, 2, 0, 0], [0; 4]));
    }
}
