//! `connections_used` stops new logins, and never a query.

use sandbox::{APP, ETL};

use super::{cluster, gated, login};
use crate::harness::{Raw, wait_until};
use crate::rules::{Answer, run};

#[test]
fn a_crowd_of_connections_stops_logins_only() {
    let cluster = cluster();
    let before = cluster.primary.root_sql("SELECT @@max_connections").expect("a number").trim().to_owned();
    let tollgate = gated(
        &cluster,
        "probe: { PROBE }\ngates: { connections_used: { threshold: 90%, trickle: 0 } }\n\
         rules:\n- { id: oncall, match: { user: etl }, do: { exempt: true }, permanent: true }\n",
    );
    let mut early = login(&tollgate, APP);
    let connected = || {
        let sql =
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_connected'";
        cluster.primary.root_sql(sql).expect("a number").trim().parse::<u64>().expect("a number")
    };
    let most = |share: f64| {
        let most = (connected() as f64 / share).ceil() as u64;
        cluster.primary.root_sql(&format!("SET GLOBAL max_connections = {most}")).expect("set");
    };
    let _crowd: Vec<Raw> = (0..40).map(|_| Raw::login(cluster.primary.address(), APP)).collect();
    most(0.6);
    tollgate.await_gate("connections_used", "open");
    drop(login(&tollgate, APP));

    most(0.95);
    tollgate.await_gate("connections_used", "closed");
    let refused = Raw::try_login(tollgate.address, APP).expect_err("no room for more");
    assert!(refused.starts_with("1040") && refused.contains("reason=gate:connections_used"), "{refused}");
    assert_eq!(run(&mut early, "SELECT COUNT(*) FROM mysql.user"), Answer::Done, "who is in works on");
    drop(login(&tollgate, ETL));

    cluster.primary.root_sql(&format!("SET GLOBAL max_connections = {before}")).expect("set");
    wait_until("logins again", || Raw::try_login(tollgate.address, APP).is_ok());
}
