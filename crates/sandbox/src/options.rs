//! What a server is started with.

use std::path::Path;

use crate::Flavor;

/// How to start a server. Later arguments win, so `arguments` override what the sandbox sets.
#[derive(Debug, Clone)]
pub struct Options {
    pub flavor: Flavor,
    /// Unique among the servers that replicate from each other.
    pub server_id: u32,
    /// More arguments for the server's program, such as `--wait-timeout=5`.
    pub arguments: Vec<String>,
    /// More for the environment of the server's program, where it runs on this machine and in no container.
    pub environment: Vec<(String, String)>,
}

impl Options {
    pub fn of(flavor: Flavor) -> Self {
        Self { flavor, server_id: 1, arguments: Vec::new(), environment: Vec::new() }
    }

    pub fn mysql() -> Self {
        Self::of(Flavor::Mysql)
    }

    pub fn mariadb() -> Self {
        Self::of(Flavor::Mariadb)
    }

    #[must_use]
    pub fn server_id(mut self, id: u32) -> Self {
        self.server_id = id;
        self
    }

    /// Adds an argument for the server's program.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds variables to the environment of the server's program.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }
}

/// The arguments that every server gets: fast rather than safe against a power cut, and open to what tests do.
pub(crate) fn common_arguments(options: &Options, folder: &Path, port: u16) -> Vec<String> {
    let data = folder.join("data");
    let at = |name: &str| folder.join(name).display().to_string();
    let mut arguments = vec![
        format!("--datadir={}", data.display()),
        format!("--tmpdir={}", at("tmp")),
        format!("--socket={}", at("mysql.sock")),
        format!("--pid-file={}", at("pid")),
        format!("--port={port}"),
        format!("--server-id={}", options.server_id),
        "--report-host=127.0.0.1".into(),
        format!("--report-port={port}"),
    ];
    let fixed = [
        "--log-bin=binlog",
        "--relay-log=relay",
        "--sync-binlog=0",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-doublewrite=OFF",
        "--innodb-buffer-pool-size=128M",
        "--innodb-buffer-pool-dump-at-shutdown=OFF",
        "--innodb-buffer-pool-load-at-startup=OFF",
        "--performance-schema=ON",
        "--local-infile=1",
        "--max-connections=3000",
        "--back-log=1000",
        "--max-allowed-packet=1G",
    ];
    arguments.extend(fixed.map(String::from));
    // MySQL cannot take this one back: with `--skip-name-resolve=OFF` behind it there is still no host cache.
    if !options.arguments.iter().any(|argument| argument.starts_with("--skip-name-resolve")) {
        arguments.push("--skip-name-resolve".into());
    }
    match options.flavor {
        Flavor::Mysql => arguments.extend(
            [
                // Not every build has it.
                "--loose-mysqlx=OFF",
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
                "--innodb-redo-log-capacity=64M",
                "--secure-file-priv=",
                "--log-error-verbosity=2",
            ]
            .map(String::from),
        ),
        Flavor::Mariadb => {
            arguments.extend(
                ["--binlog-format=ROW", "--innodb-log-file-size=64M", "--gtid-strict-mode=ON"].map(String::from),
            );
            for (option, file) in [("ssl-ca", "ca.pem"), ("ssl-cert", "server-cert.pem"), ("ssl-key", "server-key.pem")]
            {
                arguments.push(format!("--{option}={}", data.join(file).display()));
            }
        }
    }
    arguments
}
