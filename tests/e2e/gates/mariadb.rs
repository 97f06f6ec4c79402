//! The same before MariaDB, as the user that `tollgate grants` makes.

use sandbox::{Cluster, Options, Server};

use super::lag::stops_writes;
use super::{before, everything_is_known, printed_grants};

/// A primary and a replica that follows it by GTID.
fn start() -> Cluster {
    let primary = Server::start(Options::mariadb()).expect("a MariaDB");
    let replica = Server::start(Options::mariadb().server_id(2)).expect("another");
    let port = primary.port();
    let follow = format!(
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', MASTER_PASSWORD='repl-pw',
         MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; START SLAVE; SET GLOBAL read_only = ON"
    );
    replica.root_sql(&follow).expect("a replica");
    Cluster { primary, replica }
}

#[test]
fn gates_before_mariadb() {
    let cluster = start();
    let login = "user: watcher, password: watcher-pw";
    let heartbeat = format!("probe: {{ {login}, heartbeat: tollgate.heartbeat }}\ndefaults: {{ reject_pause: 0s }}\n");
    // As an operator would: the password written in, and piped into `mysql`. The replica gets it by replication.
    let printed = printed_grants(&before(&cluster, &heartbeat), &["--mariadb"]);
    cluster.primary.root_sql(&printed.replace("<password>", "'watcher-pw'")).expect("the printed statements");
    everything_is_known(&before(&cluster, &heartbeat), &cluster);

    stops_writes(&cluster, &heartbeat, "paced");
    // By whole seconds of `Seconds_Behind_Master`.
    let seconds = format!("probe: {{ {login} }}\ndefaults: {{ reject_pause: 0s }}\n");
    stops_writes(&cluster, &seconds, "permits");

    // And those who are discovered, as a user that may.
    let discover = |yaml: &str| {
        let listed = format!("[\"{}\"]", cluster.replica.address());
        before(&cluster, yaml).replace(&listed, "discover").replace("watcher", "finder")
    };
    let printed = printed_grants(&discover(&heartbeat), &["--mariadb"]);
    cluster.primary.root_sql(&printed.replace("<password>", "'finder-pw'")).expect("the printed statements");
    everything_is_known(&discover(&heartbeat), &cluster);
}
