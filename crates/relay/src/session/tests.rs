//! Sessions over an in-memory pair: the test is both the client and the upstream, and sees every byte. The clock is
//! paused, so a session that hangs fails at once.

mod binlog;
mod execute_refused;
mod farewell;
mod files;
mod held;
mod left;
mod pair;
mod pipelined;
mod redirects;
mod replies;
mod settled;
mod sizes;
mod stalled;
mod transactions;

#[test]
fn versions_as_servers_write_them() {
    for (text, number) in [
        ("9.7.4-2", Some(90_704)),
        ("8.0.36", Some(80_036)),
        ("5.5.5-10.11.6-MariaDB-0+deb12u1", Some(101_106)),
        ("11.4.2-MariaDB", Some(110_402)),
        ("what", None),
        ("", None),
    ] {
        assert_eq!(super::version_number(text.as_bytes()), number, "{text}");
    }
}
