bitflags::bitflags! {
    /// The server's state at the end of a reply (SERVER_STATUS_ and SERVER_ names without their prefix).
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html> (SERVER_STATUS_flags_enum)
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct StatusFlags: u16 {
        const IN_TRANS = 1;
        const AUTOCOMMIT = 1 << 1;
        const MORE_RESULTS_EXISTS = 1 << 3;
        const NO_GOOD_INDEX_USED = 1 << 4;
        const NO_INDEX_USED = 1 << 5;
        const CURSOR_EXISTS = 1 << 6;
        const LAST_ROW_SENT = 1 << 7;
        const DB_DROPPED = 1 << 8;
        const NO_BACKSLASH_ESCAPES = 1 << 9;
        const METADATA_CHANGED = 1 << 10;
        const QUERY_WAS_SLOW = 1 << 11;
        const PS_OUT_PARAMS = 1 << 12;
        const IN_TRANS_READONLY = 1 << 13;
        const SESSION_STATE_CHANGED = 1 << 14;
    }
}
