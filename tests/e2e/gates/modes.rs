//! From nothing to enforced and back: the file is saved, and who waits is judged anew.

use sandbox::APP;

use super::{Dial, cluster, gated, is_refused_by, login, until_refused};
use crate::harness::wait_until;
use crate::rules::{Answer, answer, run};

#[test]
fn a_gate_warns_then_acts_then_warns_again() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.moded (a INT)").expect("a table");
    let dial = Dial::new(&cluster, "modes");
    let tollgate = gated(&cluster, &dial.yaml(", mode: warn, classes: [write], max_delay: 1s, trickle: 0"));
    let write = "INSERT INTO test.moded VALUES (1)";
    let mut raw = login(&tollgate, APP);
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    assert_eq!(run(&mut raw, write), Answer::Done);
    wait_until("it is counted", || tollgate.counted("warned") > 0);

    tollgate.rewrite(|yaml| yaml.replace("mode: warn", "mode: enforce"));
    until_refused(&mut raw, write, "dial");
    tollgate.rewrite(|yaml| yaml.replace("max_delay: 1s", "max_delay: 10m"));
    tollgate.await_generation(3);
    raw.command(0x03, write.as_bytes());
    wait_until("it waits", || tollgate.waiting() == 1);
    tollgate.rewrite(|yaml| yaml.replace("mode: enforce", "mode: warn"));
    let judged = answer(&mut raw);
    assert!(judged == Answer::Done && !is_refused_by(&judged, "dial"), "who waits is judged anew: {judged:?}");
    assert_eq!(tollgate.gate("dial")["state"], "closed");
}

/// What the gate says itself is not asked: with one key nothing holds anybody back any more.
#[test]
fn the_whole_proxy_warns_where_a_gate_would_enforce() {
    let cluster = cluster();
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.all_moded (a INT)").expect("a table");
    let dial = Dial::new(&cluster, "all_modes");
    let gate = dial.yaml(", mode: enforce, classes: [write], action: reject, trickle: 0");
    let tollgate = gated(&cluster, &format!("defaults: {{ mode: enforce }}\n{gate}"));
    let write = "INSERT INTO test.all_moded VALUES (1)";
    let mut raw = login(&tollgate, APP);
    dial.set(99.0);
    until_refused(&mut raw, write, "dial");
    tollgate.rewrite(|yaml| yaml.replace("defaults: { mode: enforce }", "defaults: { mode: warn }"));
    tollgate.await_generation(2);
    let before = tollgate.counted("warned");
    assert_eq!(run(&mut raw, write), Answer::Done);
    wait_until("it is counted", || tollgate.counted("warned") > before);
    let gate = tollgate.gate("dial");
    assert_eq!((&gate["mode"], &gate["state"]), (&"warn".into(), &"closed".into()), "{gate}");
}
