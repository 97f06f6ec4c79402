//! Two processes at one file, as when a new one takes over the port.

use std::sync::{Arc, Barrier};
use std::thread;

use super::*;
use crate::overlay::Note;

#[test]
fn neither_loses_what_the_other_adds() {
    let folder = tempfile::tempdir().unwrap();
    let (mut old, mut new) = (open(&folder), open(&folder));
    old.add(rule("a", "a", "r"), now()).unwrap();
    new.add(rule("b", "b", "r"), now()).unwrap();
    old.add(rule("c", "c", "r"), now()).unwrap();
    assert_eq!(ids(&old), ["a", "b", "c"]);
    assert_eq!(ids(&new), ["a", "b"]);
    assert!(new.refresh());
    assert!(!new.refresh());
    assert_eq!(ids(&new), ["a", "b", "c"]);
    new.end("a", now()).unwrap();
    assert!(matches!(old.end("a", now()), Err(OverlayError::NoSuchRule { .. })));
    assert!(matches!(old.add(rule("b", "d", "r"), now()), Err(OverlayError::IdTaken { .. })));
    assert_eq!((ids(&old), ids(&new)), (vec!["b", "c"], vec!["b", "c"]));
}

#[test]
fn many_at_once_lose_nothing() {
    const EACH: usize = 25;
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let start = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (folder, start) = (Arc::clone(&folder), Arc::clone(&start));
            thread::spawn(move || {
                let mut overlay = open(&folder);
                start.wait();
                for turn in 0..EACH {
                    let id = format!("r{number}-{turn}");
                    overlay.add(rule(&id, &id, "r"), now()).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(open(&folder).rules().len(), 4 * EACH);
}

#[test]
fn a_rule_of_the_file_takes_its_id_and_the_other_goes_on_under_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    for id in ["a", "a-runtime", "b"] {
        overlay.add(rule(id, id, "r"), now()).unwrap();
    }
    let (mut overlay, notes) = Overlay::open(folder.path(), [RuleId::from("a")]);
    assert_eq!(notes, [Note::Renamed { old: "a".into(), new: "a-runtime-2".into() }]);
    assert_eq!(ids(&overlay), ["a-runtime-2", "a-runtime", "b"]);
    overlay.end("b", now()).unwrap();
    overlay.take_notes();
    assert_eq!(ids(&open(&folder)), ["a-runtime-2", "a-runtime"]);
    overlay.set_taken([RuleId::from("z")]);
    assert!(matches!(overlay.add(rule("z", "z", "r"), now()), Err(OverlayError::IdTaken { .. })));
    overlay.add(rule("a", "y", "r"), now()).unwrap();
}
