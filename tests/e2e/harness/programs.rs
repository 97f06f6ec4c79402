//! The client programs that come with a server.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use sandbox::{Flavor, Login, Server};

/// Runs one statement with the server's own `mysql` program at `address`. `Err`: what it complained of.
pub(crate) fn mysql(
    server: &Server,
    address: SocketAddr,
    login: Login,
    arguments: &[&str],
    sql: &str,
) -> Result<String, String> {
    run(server.client_to(program(server), login, address).expect("the client program"), arguments, sql)
}

/// The same over a Unix socket.
pub(crate) fn mysql_at_socket(
    server: &Server,
    socket: &Path,
    login: Login,
    arguments: &[&str],
    sql: &str,
) -> Result<String, String> {
    let mut client = server.client(program(server), login).expect("the client program");
    client.args(["--protocol=socket", "--host=localhost", &format!("--socket={}", socket.display())]);
    run(client, arguments, sql)
}

/// The table of a server's processes. MySQL's in `information_schema` fails with 3854 for everybody while any session runs a
/// statement with bytes outside utf8mb3; MariaDB has no other.
pub(crate) fn process_list(server: &Server) -> &'static str {
    match server.flavor() {
        Flavor::Mysql => "performance_schema.processlist",
        Flavor::Mariadb => "information_schema.processlist",
    }
}

fn program(server: &Server) -> &'static str {
    match server.flavor() {
        Flavor::Mysql => "mysql",
        Flavor::Mariadb => "mariadb",
    }
}

fn run(mut client: Command, arguments: &[&str], sql: &str) -> Result<String, String> {
    let output = client
        .args(["--batch", "--skip-column-names"])
        .args(arguments)
        .args(["--execute", sql])
        .output()
        .expect("running the client program");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
    }
}
