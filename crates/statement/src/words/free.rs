//! What a statement without a table may use and still never be delayed: what drivers, pools and frameworks send on connect
//! and to keep a connection alive. Nothing here waits, takes a lock, reads a table or a file, or works or allocates in
//! proportion to the value of an argument; so not SLEEP, BENCHMARK, REPEAT, SPACE, RPAD, or `CAST(x AS BINARY(n))`. Two are
//! watched, since a few of them nested could: CONCAT, which must not be fed with user variables (each `SET @a = CONCAT(@a, @a)`
//! doubles one), and REPLACE, which may only take away.

/// Functions. RELEASE_LOCK is here because whoever holds a lock must be able to give it back.
#[rustfmt::skip]
pub(super) const FUNCTIONS: [&str; 58] = [
    "cast", "charset", "coalesce", "coercibility", "collation", "concat", "concat_ws", "connection_id", "convert", "count",
    "curdate", "current_date", "current_role", "current_time", "current_timestamp", "current_user", "curtime",
    "database", "date", "date_format", "found_rows", "if", "ifnull", "is_free_lock", "is_used_lock", "isnull",
    "last_insert_id", "length", "localtime", "localtimestamp", "lower", "now", "nullif", "ps_current_thread_id",
    "release_all_locks", "release_lock", "replace", "row_count", "schema", "session_user", "substring_index",
    "sysdate", "system_user", "time", "timediff", "timestamp", "timestampdiff", "trim", "unix_timestamp", "upper",
    "user", "utc_date", "utc_time", "utc_timestamp", "uuid", "uuid_short", "version", "year",
];

/// Keywords that may stand before a parenthesis, and the types of CAST that do not pad.
#[rustfmt::skip]
pub(super) const KEYWORDS: [&str; 36] = [
    "all", "and", "any", "as", "between", "by", "case", "char", "datetime", "decimal", "distinct", "div", "else",
    "except", "exists", "having", "in", "intersect", "interval", "is", "mod", "nchar", "not", "or", "row", "select",
    "set", "some", "then", "union", "using", "value", "values", "when", "where", "xor",
];
