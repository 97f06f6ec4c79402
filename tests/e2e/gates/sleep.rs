//! Without traffic the servers are asked rarely; the first query after a pause is not judged by what was true before.

use sandbox::APP;

use super::{Dial, cluster, gated, is_refused_by, login, until_passes};
use crate::rules::{Answer, run};

#[test]
fn the_first_query_after_a_pause_is_judged_by_new_numbers() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_sleep (a INT)").expect("a table");
    let dial = Dial::new(&cluster, "sleep");
    // Where nobody answers within the second that it waits, it is closed: a slow machine must not make this pass.
    let gate = ", trickle: 0, on_stale: closed, classes: [write], max_delay: 3s";
    let yaml = dial.yaml(gate).replace("PROBE", "PROBE, idle_after: 1s, idle_interval: 1h");
    let tollgate = gated(&cluster, &yaml);
    let write = "INSERT INTO test.gated_sleep VALUES (1)";
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, write);
    for (value, passes) in [(99.0, false), (1.0, true), (99.0, false)] {
        // Asleep.
        tollgate.await_gate("dial", "waking");
        // Nobody looks for an hour.
        dial.set(value);
        let answer = run(&mut raw, write);
        assert_eq!(answer == Answer::Done, passes, "{value}: {answer:?}");
        assert!(passes || is_refused_by(&answer, "dial"), "{answer:?}");
    }
}
