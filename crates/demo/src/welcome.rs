//! How to connect, in a box.

use crate::servers::{DATABASE, Servers};

pub(crate) fn print(servers: &Servers) {
    let (primary, replica, proxy) = (&servers.cluster.primary, &servers.cluster.replica, &servers.proxy);
    let (user, password) = (sandbox::APP.user, sandbox::APP.password);
    let (host, port) = (proxy.address.ip(), proxy.address.port());
    print!(
        "{}",
        boxed(&[
            format!("Tollgate before {} {} ({})", primary.flavor(), primary.version(), primary.origin()),
            String::new(),
            format!("mysql -h {host} -P {port} -u {user} -p{password} {DATABASE}"),
            String::new(),
            format!("proxy    {}   user {user}, password {password}; pid {}", proxy.address, proxy.pid()),
            format!("metrics  http://{}/metrics", proxy.http),
            format!("rules    tollgate rules list --http {}", proxy.http),
            format!("gate     replication_lag, on what {} writes: {}", sandbox::ETL.user, proxy.config().display()),
            format!("primary  {}   the same user, around the proxy", primary.address()),
            format!("replica  {}   follows the primary by GTID", replica.address()),
            String::new(),
            "Ctrl-C ends everything and removes it.".to_owned(),
        ])
    );
}

fn boxed(lines: &[String]) -> String {
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let rule = "─".repeat(width + 2);
    let mut text = format!("┌{rule}┐\n");
    for line in lines {
        text.push_str(&format!("│ {line:<width$} │\n"));
    }
    text.push_str(&format!("└{rule}┘\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_gives_the_width() {
        let drawn = boxed(&["a".to_owned(), "später".to_owned()]);
        assert_eq!(drawn, "┌────────┐\n│ a      │\n│ später │\n└────────┘\n");
    }
}
