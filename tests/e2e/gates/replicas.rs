//! Several replicas: the slowest of those that are known decides, and who is lost does not; and a heartbeat row that two proxies
//! write.

use sandbox::{APP, Options, Server};

use super::lag::{HEARTBEAT, Locked};
use super::{as_probe_user, cluster, is_known, login, until_passes, until_refused};
use crate::harness::{PATIENCE, Tollgate, wait_until};
use crate::rules::{Answer, run};

const WRITE: &str = "INSERT INTO test.followed VALUES (1)";

/// One more than the cluster has, which follows the same primary.
fn another_replica(primary: &Server) -> Server {
    let options = Options::mysql().server_id(7).argument("--read-only=ON");
    let replica = Server::start(options).expect("another replica");
    super::wrong::follow(&replica, primary);
    let executed = primary.root_sql("SELECT @@global.gtid_executed").expect("what there is").replace("\\n", "");
    let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{}', {})", executed.trim(), PATIENCE.as_secs());
    assert_eq!(replica.root_sql(&wait).expect("an answer").trim(), "0", "it follows");
    replica
}

#[test]
fn one_of_two_is_lost_and_then_the_other() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.followed (a INT)").expect("a table");
    let second = another_replica(&cluster.primary);
    let gate = "threshold: 2s, on_stale: closed, stale_after: 1s, action: reject, trickle: 0";
    let start = |more: &str| {
        Tollgate::start(&format!(
            "upstream: {{ address: \"{}\", replicas: [\"{}\", \"{}\"] }}\n{}gates: {{ replication_lag: {{ {gate}{more} }} }}\n",
            cluster.primary.address(),
            cluster.replica.address(),
            second.address(),
            as_probe_user(HEARTBEAT)
        ))
    };
    let (all, best) = (start(""), start(", ignore_worst: 1"));
    let (mut of_all, mut of_best) = (login(&all, APP), login(&best, APP));
    for (tollgate, raw) in [(&all, &mut of_all), (&best, &mut of_best)] {
        wait_until("both replicas", || {
            [&cluster.replica, &second].iter().all(|replica| is_known(tollgate, "replication_lag", replica))
        });
        until_passes(raw, WRITE);
    }

    // One lags: it decides, unless the worst is not to count.
    let locked = Locked::new(&cluster);
    until_refused(&mut of_all, WRITE, "replication_lag");
    all.await_gate("replication_lag", "closed");
    assert_eq!(run(&mut of_best, WRITE), Answer::Done, "the worst does not count");

    // It is lost: the other decides. A lost one is never 0, and never as late as it last was for ever.
    cluster.replica.kill().expect("killed");
    drop(locked);
    wait_until("the lost one not to count", || !is_known(&all, "replication_lag", &cluster.replica));
    until_passes(&mut of_all, WRITE);
    all.await_gate("replication_lag", "open");

    // The other is lost too.
    second.kill().expect("killed");
    all.await_gate("replication_lag", "stale");
    until_refused(&mut of_all, WRITE, "replication_lag");

    // One comes back.
    cluster.replica.restart().expect("restarted");
    cluster.replica.root_sql("START REPLICA").expect("started");
    until_passes(&mut of_all, WRITE);
}

#[test]
fn two_proxies_that_write_one_row_are_found_out() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.followed (a INT)").expect("a table");
    let yaml = super::before(
        &cluster,
        &format!(
            "{HEARTBEAT}gates: {{ replication_lag: {{ threshold: 5s, on_stale: closed, stale_after: 1s, action: reject, trickle: 0 }} }}\n"
        ),
    );
    // As after a copy of the whole folder.
    let start = || {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("state")).expect("a folder");
        std::fs::write(folder.path().join("state/proxy-id"), "copied").expect("a file");
        Tollgate::start_in(folder, &yaml)
    };
    let first = start();
    until_passes(&mut login(&first, APP), WRITE);
    let second = start();
    for tollgate in [&first, &second] {
        wait_until("the twin to be seen", || tollgate.gate("replication_lag")["unknown"] == "foreign");
        until_refused(&mut login(tollgate, APP), WRITE, "replication_lag");
        wait_until("the remedy", || tollgate.log().contains("give every proxy a name of its own"));
    }
    drop(first);
    until_passes(&mut login(&second, APP), WRITE);
}
