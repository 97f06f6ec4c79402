//! Real files in a folder of their own; the clock is given.

mod broken;
mod shared;

use std::fs;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rules::{Rule, RuleId, Timestamp};
use serde_json::json;
use tempfile::TempDir;

use super::store::Step;
use super::{Ending, Extension, Incident, Overlay, OverlayError};
use crate::rule::tests::made;
use crate::rule::{from_json, to_json};
use crate::tests::{now, plan};

const HOUR: Duration = Duration::from_secs(3600);

fn rule(id: &str, user: &str, reason: &str) -> Rule {
    let json =
        json!({ "id": id, "match": { "user": user }, "do": { "rejection_ratio": 0.9 }, "for": "2h", "reason": reason });
    from_json(&json, &[], now()).unwrap()
}

fn open(folder: &TempDir) -> Overlay {
    let (overlay, notes) = Overlay::open(folder.path(), []);
    assert!(notes.is_empty(), "{notes:?}");
    overlay
}

fn ids(overlay: &Overlay) -> Vec<&str> {
    overlay.rules().iter().map(|rule| &*rule.id).collect()
}

fn incident(id: &str) -> Incident {
    Incident {
        id: id.to_owned(),
        playbook: Some("p".to_owned()),
        opened: now(),
        opened_by: Some("oncall".to_owned()),
        reason: None,
    }
}

#[test]
fn what_was_added_is_there_after_a_restart_with_its_expiry() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(3);
    let mut overlay = open(&folder);
    let mut added = Vec::new();
    for turn in 0..30 {
        // The same match again would take a new reason.
        let rule = Rule { reason: Some(format!("reason {turn}")), ..made::rule(&mut random, now()) };
        overlay.add(rule.clone(), now()).unwrap();
        added.push(rule);
        assert_eq!(open(&folder).rules(), added);
    }
    assert_eq!(overlay.rules(), added);
    assert!(!folder.path().join("rules.json.new").exists());
}

#[test]
fn a_folder_that_is_not_there_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    let (mut overlay, notes) = Overlay::open(&inner, []);
    assert!(notes.is_empty() && overlay.rules().is_empty());
    // And made again if somebody takes it away.
    fs::remove_dir_all(&inner).unwrap();
    overlay.add(rule("a", "x", "why"), now()).unwrap();
    assert!(inner.join("rules.json").exists());
}

#[test]
fn rules_are_extended_ended_and_expired() {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    for id in ["a", "b", "c"] {
        overlay.add(rule(id, id, "incident"), now()).unwrap();
    }
    let until = now().plus(5 * HOUR);
    let extension = |reason| Extension { until, reason };
    for reason in [None, Some("incident"), Some(" Incident. ")] {
        let refused = overlay.extend("a", &extension(reason), now());
        assert!(matches!(refused, Err(OverlayError::StaleReason(_))), "{reason:?}");
    }
    let extended = overlay.extend("a", &extension(Some("still broken")), now()).unwrap();
    assert_eq!((extended.expires, extended.reason.as_deref()), (Some(until), Some("still broken")));
    assert_eq!(&*overlay.end("b", now()).unwrap().id, "b");
    assert!(matches!(overlay.end("b", now()), Err(OverlayError::NoSuchRule { .. })));
    assert!(overlay.expire(now().plus(HOUR)).unwrap().is_empty());
    let expired = overlay.expire(now().plus(2 * HOUR)).unwrap();
    assert_eq!(expired.iter().map(|rule| &*rule.id).collect::<Vec<_>>(), ["c"]);
    assert_eq!(ids(&overlay), ["a"]);
    assert_eq!(open(&folder).rules()[0].expires, Some(until));
    let past: Vec<(&str, Ending)> = overlay.state().past.iter().map(|past| (&*past.rule.id, past.how)).collect();
    assert_eq!(past, [("b", Ending::Ended), ("c", Ending::Expired)]);
}

#[test]
fn a_rule_that_is_over_is_not_extended_and_stands_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    overlay.add(rule("a", "x", "one"), now()).unwrap();
    let later = now().plus(2 * HOUR);
    let extension = Extension { until: later.plus(HOUR), reason: Some("two") };
    assert!(matches!(overlay.extend("a", &extension, later), Err(OverlayError::NoSuchRule { .. })));
    let again = Rule { expires: Some(later.plus(HOUR)), ..rule("a", "x", "two") };
    overlay.add(again, later).unwrap();
    assert_eq!((ids(&overlay), overlay.state().past.len()), (vec!["a"], 1));
}

#[test]
fn adding_again_for_the_same_clients_takes_a_new_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    overlay.add(rule("a", "x", "slow"), now()).unwrap();
    overlay.end("a", now()).unwrap();
    // Also after a restart, and under another name.
    let mut overlay = open(&folder);
    assert!(matches!(overlay.add(rule("b", "x", "slow"), now()), Err(OverlayError::StaleReason(_))));
    overlay.add(rule("b", "y", "slow"), now()).unwrap();
    overlay.add(rule("c", "x", "slow again"), now()).unwrap();
    // A week later nobody remembers.
    let later = now().plus(200 * HOUR);
    overlay.expire(later).unwrap();
    let much_later = later.plus(200 * HOUR);
    let rule = Rule { expires: Some(much_later.plus(HOUR)), ..rule("d", "z", "x") };
    overlay.add(rule, much_later).unwrap();
    assert!(overlay.state().past.is_empty());
}

#[test]
fn what_is_no_rule_of_the_run_time_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mut overlay, _) = Overlay::open(folder.path(), [RuleId::from("in-file")]);
    overlay.add(rule("a", "x", "one"), now()).unwrap();
    let before = fs::read(folder.path().join("rules.json")).unwrap();
    for (rule, expected) in [
        (rule("a", "y", "two"), "already"),
        (rule("in-file", "y", "two"), "already"),
        (Rule { expires: None, ..rule("b", "y", "two") }, "expires, and `b` does not"),
        (Rule { expires: Some(now()), ..rule("b", "y", "two") }, "is over"),
        (Rule { expires: Some(now().plus(10_000 * HOUR)), ..rule("b", "y", "two") }, "more than a year"),
    ] {
        let error = overlay.add(rule, now()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(ids(&overlay), ["a"]);
    assert_eq!(fs::read(folder.path().join("rules.json")).unwrap(), before);
}

#[test]
fn an_incident_puts_its_playbook_in_force_and_takes_it_back() {
    let text = "upstream: { address: 127.0.0.1 }\nplaybooks:\n  p:\n    - { id: a, match: { user: x }, do: { hold: true }, for: 3h, reason: slow }\n    - { id: b, match: { user: y }, do: { exempt: true } }\n";
    let policy = plan(text).policy;
    let playbook = policy.playbook("p").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    let rules = playbook.open("INC-42", Some("oncall"), None, now());
    let ends: Vec<Option<Timestamp>> = rules.iter().map(|rule| rule.expires).collect();
    assert_eq!(ends, [Some(now().plus(3 * HOUR)), Some(now().plus(HOUR))]);
    overlay.open_incident(incident("INC-42"), rules.clone(), now()).unwrap();
    assert_eq!(ids(&overlay), ["a-INC-42", "b-INC-42"]);
    let again = overlay.open_incident(incident("INC-42"), rules.clone(), now());
    assert!(matches!(again, Err(OverlayError::IncidentOpen { .. })));
    // All or nothing: the second of these is there already.
    let mixed = vec![rule("fresh", "z", "r"), rules[0].clone()];
    let error = overlay.open_incident(incident("INC-43"), mixed, now()).unwrap_err();
    assert!(matches!(error, OverlayError::IdTaken { .. }));
    assert_eq!((overlay.rules().len(), overlay.state().incidents.len()), (2, 1));

    let by_hand = Rule { incident: Some("INC-42".to_owned()), ..rule("hand", "z", "r") };
    overlay.add(by_hand, now()).unwrap();
    let mut overlay = open(&folder);
    assert_eq!(overlay.state().incidents, [incident("INC-42")]);
    let closed = overlay.close_incident("INC-42", now().plus(2 * HOUR - Duration::from_secs(1))).unwrap();
    assert_eq!(closed.ended.iter().map(|rule| &*rule.id).collect::<Vec<_>>(), ["a-INC-42"], "the other had expired");
    assert_eq!(closed.stay, ["hand".into()]);
    assert!(matches!(overlay.close_incident("INC-42", now()), Err(OverlayError::NoSuchIncident { .. })));
    // The next one takes no new reason.
    let rules = playbook.open("INC-43", None, None, now().plus(2 * HOUR));
    overlay.open_incident(incident("INC-43"), rules, now().plus(2 * HOUR)).unwrap();
    assert_eq!(ids(&overlay), ["a-INC-43", "b-INC-43"]);
}

#[test]
fn a_write_that_fails_changes_nothing() {
    for step in [Step::Create, Step::Write, Step::Sync, Step::Rename, Step::SyncFolder] {
        for first in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let mut overlay = open(&folder);
            if !first {
                overlay.add(rule("a", "x", "one"), now()).unwrap();
            }
            let file = folder.path().join("rules.json");
            let before = (fs::read(&file).ok(), overlay.state().clone());
            overlay.file.lock().unwrap().store.fail_at = Some(step);
            let refused = [
                overlay.add(rule("b", "y", "two"), now()).unwrap_err(),
                overlay.open_incident(incident("INC-1"), vec![rule("c", "z", "r")], now()).unwrap_err(),
            ];
            for error in refused {
                assert!(matches!(error, OverlayError::NotKept { .. }), "{error}");
                assert!(error.to_string().contains("could not be kept"), "{error}");
            }
            assert_eq!((fs::read(&file).ok(), overlay.state().clone()), before, "{step:?}");
            assert!(!folder.path().join("rules.json.new").exists(), "{step:?}");
            overlay.file.lock().unwrap().store.fail_at = None;
            overlay.add(rule("b", "y", "two"), now()).unwrap();
            assert_eq!(ids(&open(&folder)), if first { vec!["b"] } else { vec!["a", "b"] });
        }
    }
}

#[test]
fn the_file_is_for_people_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    overlay.add(rule("a", "x", "one"), now()).unwrap();
    let text = fs::read_to_string(folder.path().join("rules.json")).unwrap();
    assert!(text.contains("\"format\": 1") && text.contains("\"expires\": \"2026-04-21T12:05:30Z\""), "{text}");
    assert!(text.contains(&to_json(overlay.rules().first().unwrap())["id"].to_string()));
}
