//! Rules added at run time outlive the process, with their end.

use std::process::{Command, Stdio};
use std::time::Duration;

use sandbox::ETL;
use serde_json::{Value, json};

use super::{AT_ONCE, Answer, primary, run};
use crate::harness::{Raw, Tollgate, upstream, wait_until};

const READ: &str = "SELECT COUNT(*) FROM mysql.plugin";

fn rules_of(tollgate: &Tollgate) -> Vec<Value> {
    let (status, body) = tollgate.get("/rules");
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    let all = answer["rules"].as_array().expect("rules").clone();
    all.into_iter().filter(|rule| rule["origin"] == "runtime").collect()
}

fn stop_etl(id: &str) -> String {
    json!({ "id": id, "match": { "user": "etl" }, "do": { "rejection_ratio": 1 }, "for": "1h",
            "reason": format!("test {id}"), "created_by": "test" })
    .to_string()
}

#[test]
fn every_confirmed_rule_is_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let yaml = format!("{}{AT_ONCE}state_dir: {}\n", upstream(primary()), state.display());
    let mut confirmed: Vec<(String, Value)> = Vec::new();
    for round in 0..12 {
        let mut tollgate = Tollgate::start(&yaml);
        for (id, expires) in &confirmed {
            let found = rules_of(&tollgate).into_iter().find(|rule| rule["id"] == **id);
            let found = found.unwrap_or_else(|| panic!("{id} is lost"));
            assert_eq!(found["expires"], *expires, "{id} ends when it did");
        }
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (stop, tollgate) = (&stop, &tollgate);
            let adding = scope.spawn(move || {
                let mut added = Vec::new();
                for n in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let id = format!("r{round}-{n}");
                    let Some((201 | 200, body)) = tollgate.try_post("/rules", &stop_etl(&id)) else { break };
                    let rule: Value = serde_json::from_str(&body).expect("JSON");
                    added.push((id, rule["expires"].clone()));
                }
                added
            });
            std::thread::sleep(Duration::from_millis(20 + 17 * round));
            tollgate.signal("KILL");
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            confirmed.extend(adding.join().expect("adding"));
        });
        let _ = tollgate.wait();
    }
    assert!(confirmed.len() > 20, "{}", confirmed.len());
    let tollgate = Tollgate::start(&yaml);
    assert!(run(&mut Raw::login(tollgate.address, ETL), READ).is_refused(), "they act, too");
}

#[test]
fn a_disk_that_is_full_or_read_only_refuses_the_rule_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    std::fs::create_dir(&state).expect("a folder");
    // A disk of its own, so small that it is soon full. Only root can mount one.
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&state)
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        crate::harness::skipped("a full disk", "only root can mount one");
        return;
    }
    let tollgate = Tollgate::start(&format!("{}{AT_ONCE}state_dir: {}\n", upstream(primary()), state.display()));
    assert_eq!(tollgate.post("/rules", &stop_etl("before")).0, 201);
    std::fs::write(state.join("ballast"), vec![0; 40 * 1024]).expect("some of the disk");
    let _ = std::fs::write(state.join("more"), vec![0; 64 * 1024]);
    let (status, body) = tollgate.post("/rules", &stop_etl("full"));
    assert_eq!(status, 500, "{body}");
    assert!(body.contains("could not be kept"), "{body}");
    assert_eq!(rules_of(&tollgate).len(), 1);
    let remount = |options: &str| Command::new("mount").args(["-o", options]).arg(&state).status();
    assert!(remount("remount,ro").expect("mount").success());
    let (status, body) = tollgate.post("/rules", &stop_etl("read-only"));
    assert_eq!(status, 500, "{body}");
    assert!(run(&mut Raw::login(tollgate.address, ETL), READ).is_refused(), "what was there goes on");
    assert!(remount("remount,rw").expect("mount").success());
    std::fs::remove_file(state.join("more")).and_then(|()| std::fs::remove_file(state.join("ballast"))).expect("room");
    assert_eq!(tollgate.post("/rules", &stop_etl("after")).0, 201, "and it works again");
    drop(tollgate);
    let _ = Command::new("umount").arg(&state).status();
}

#[test]
fn a_rule_ends_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let yaml = format!("{}{AT_ONCE}state_dir: {}\n", upstream(primary()), folder.path().display());
    let tollgate = Tollgate::start(&yaml);
    let short = json!({ "id": "short", "match": { "user": "etl" }, "do": { "hold": true }, "for": "2s", "max_delay": "1h",
                        "reason": "test", "created_by": "test" });
    assert_eq!(tollgate.post("/rules", &short.to_string()).0, 201);
    let mut raw = Raw::login(tollgate.address, ETL);
    assert_eq!(run(&mut raw, READ), Answer::Done, "held until the rule ended");
    wait_until("it is gone", || rules_of(&tollgate).is_empty());
}
