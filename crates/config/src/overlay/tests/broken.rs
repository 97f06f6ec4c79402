//! Files that are not as they were written.

use std::fs;

use super::*;
use crate::overlay::Note;

/// A folder whose file has these bytes.
fn folder_with(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.json"), bytes).unwrap();
    folder
}

/// The bytes of a file with two rules.
fn good() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut overlay = open(&folder);
    overlay.add(rule("a", "x", "one"), now()).unwrap();
    overlay.add(rule("b", "y", "two"), now()).unwrap();
    fs::read(folder.path().join("rules.json")).unwrap()
}

#[test]
fn a_file_cut_anywhere_is_set_aside_and_never_dropped() {
    let whole = good();
    for end in 0..whole.len() - 1 {
        let folder = folder_with(&whole[..end]);
        let (mut overlay, notes) = Overlay::open(folder.path(), []);
        assert!(overlay.rules().is_empty());
        let [Note::Broken { kept: Ok(kept), .. }] = notes.as_slice() else { panic!("cut at {end}: {notes:?}") };
        assert_eq!(fs::read(kept).unwrap(), &whole[..end]);
        assert!(notes[0].to_string().contains("LOST"), "{}", notes[0]);
        if end % 100 == 0 {
            overlay.add(rule("c", "z", "r"), now()).unwrap();
            assert_eq!(ids(&open(&folder)), ["c"]);
        }
    }
}

#[test]
fn each_broken_file_is_kept_under_a_name_of_its_own() {
    let folder = folder_with(b"one");
    for (number, text) in [(1, "one"), (2, "two"), (3, "{}")] {
        fs::write(folder.path().join("rules.json"), text).unwrap();
        let (_, notes) = Overlay::open(folder.path(), []);
        assert_eq!(notes.len(), 1);
        let kept = folder.path().join(format!("rules.json.broken-{number}"));
        assert_eq!(fs::read_to_string(kept).unwrap(), text);
    }
}

#[test]
fn one_bad_rule_does_not_take_the_others_with_it() {
    let text = String::from_utf8(good()).unwrap();
    let bad = text.replacen("0.9", "90", 1);
    let folder = folder_with(bad.as_bytes());
    let (mut overlay, notes) = Overlay::open(folder.path(), []);
    assert_eq!(ids(&overlay), ["b"]);
    let [Note::Lost { lost, kept: Ok(kept), .. }] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(lost[0].contains("rules[0] (a): do.rejection_ratio: 90 is more than 1"), "{lost:?}");
    assert_eq!(fs::read_to_string(kept).unwrap(), bad);
    overlay.add(rule("c", "z", "r"), now()).unwrap();
    assert!(overlay.take_notes().is_empty(), "it was said already");
    assert_eq!(ids(&open(&folder)), ["b", "c"]);

    let twice = text.replacen("\"id\": \"b\"", "\"id\": \"a\"", 1);
    let (overlay, notes) = Overlay::open(folder_with(twice.as_bytes()).path(), []);
    assert_eq!((ids(&overlay), notes.len()), (vec!["a"], 1));
}

#[test]
fn a_file_of_a_newer_version_is_left_alone() {
    let newer = br#"{ "format": 2, "rules": {} }"#;
    let folder = folder_with(newer);
    let (mut overlay, notes) = Overlay::open(folder.path(), []);
    assert!(matches!(notes.as_slice(), [Note::Newer { format: 2, .. }]), "{notes:?}");
    let error = overlay.add(rule("a", "x", "one"), now()).unwrap_err();
    assert!(error.to_string().contains("newer version"), "{error}");
    assert_eq!(fs::read(folder.path().join("rules.json")).unwrap(), newer);
}

#[test]
fn a_file_that_breaks_while_we_run_does_not_take_the_rules_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.json");
    let mut overlay = open(&folder);
    overlay.add(rule("a", "x", "one"), now()).unwrap();
    fs::write(&file, "garbage").unwrap();
    assert!(!overlay.refresh());
    overlay.add(rule("b", "y", "two"), now()).unwrap();
    assert!(matches!(overlay.take_notes().as_slice(), [Note::Broken { .. }]));
    assert_eq!(ids(&open(&folder)), ["a", "b"]);
    fs::remove_file(&file).unwrap();
    assert!(!overlay.refresh());
    overlay.add(rule("c", "z", "three"), now()).unwrap();
    assert_eq!(ids(&open(&folder)), ["a", "b", "c"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(overlay.add(rule("d", "w", "four"), now()), Err(OverlayError::NotKept { .. })));
    assert_eq!(ids(&overlay), ["a", "b", "c"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_said_and_the_proxy_starts() {
    let folder = tempfile::tempdir().unwrap();
    let in_the_way = folder.path().join("state");
    fs::write(&in_the_way, "a file").unwrap();
    let (mut overlay, notes) = Overlay::open(&in_the_way, []);
    assert!(notes.iter().any(|note| matches!(note, Note::NoFolder { .. })), "{notes:?}");
    let error = overlay.add(rule("a", "x", "one"), now()).unwrap_err();
    assert!(error.to_string().contains("could not be kept"), "{error}");
    assert!(overlay.rules().is_empty());
    fs::remove_file(&in_the_way).unwrap();
    overlay.add(rule("a", "x", "one"), now()).unwrap();
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = good();
    for position in (0..whole.len()).step_by(7) {
        for byte in [b'{', b'"', b'0', 0xff] {
            let mut bytes = whole.clone();
            bytes[position] = byte;
            let (overlay, notes) = Overlay::open(folder_with(&bytes).path(), []);
            assert!(overlay.rules().len() == 2 || !notes.is_empty(), "{position}");
        }
    }
}
