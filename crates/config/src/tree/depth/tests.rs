use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::tree::{Node, Unparsed, is_too_deep};

/// The reader without the guard.
fn read(text: &str) -> Result<Node, serde_yaml::Error> {
    serde_yaml::from_str(text)
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Whatever stands between them, the brackets are counted, and no more of the text is read than the first 129.
#[test]
fn deep_text_is_read_up_to_the_limit_only() {
    for unit in [
        "[",
        "{a: ",
        "{a:\n",
        "{",
        "[{a: ",
        "[\n",
        "[ # ]\n",
        "[\"]\", ",
        "[']', ",
        "{']': ",
        "[\"\\\"]\", ",
        "[a', ",
        "[a 'b, ",
        "[&a ",
        "[&a \"]\", ",
        "[!t ']', ",
        "[[a], ",
        "- [",
        "{? ",
        "[-1, ",
        "[a#b, ",
    ] {
        for before in ["", "key: ", "a: 'it''s'\nb: it's\n", "- - ", "? ", "rules:\n  - id: a\n    match: "] {
            let [short, long] = [200, 2000].map(|count| too_deep(&format!("{before}{}", unit.repeat(count))));
            let most = before.len() + unit.len() * (DEEPEST + 2);
            assert_eq!(short, long, "{before:?} {unit:?}");
            if short.is_none() {
                let read = read(&format!("{before}{}", unit.repeat(2)));
                assert!(read.is_err_and(|error| error.to_string().contains("not allowed")), "{before:?} {unit:?}");
                continue;
            }
            assert!(short.is_some_and(|length| length <= most), "{before:?} {unit:?}: {short:?}");
        }
    }
}

#[test]
fn reader_agrees_on_what_is_too_deep() {
    for depth in [DEEPEST, DEEPEST + 1] {
        let (text, is_deep) = (nested(depth), depth > DEEPEST);
        assert_eq!(read(&text).is_err_and(|error| is_too_deep(&error)), is_deep);
        assert_eq!(too_deep(&text), is_deep.then_some(depth));
    }
}

/// Texts in which brackets open nothing: `@` stands for many of them.
const HARMLESS: &[&str] = &[
    "a: b@\n",
    "a: '@'\n",
    "a: 'it''s @'\n",
    "a: '\n  @\n  '\n",
    "a: \"@\"\n",
    "a: \"\\\"@\"\n",
    "a: \"\\\\\"\nb: \"@\\\n  @\"\n",
    "# @\n",
    "a: 1 # @\n",
    "a: [1] # @\nb: [2]# @\n",
    "a: |\n  @\n",
    "a: |\n  [\n  @\n\n   @\n",
    "a: |2-\n    @\n  @\n",
    "a: >+ # @\n\n  @\n",
    "a:\n  - >1\n    @\n",
    "- - |\n   @\n",
    "? |\n @\n: |\n @\n",
    "a:\n- |\n @\n",
    "a: it's @\n",
    "a: b\n  @\n",
    "a:\n  b\n\n  @ \"\n",
    "a: |\n  \"[\nb: 'x'\n",
    "a: |\n  '[\nb: it's\n",
    "a: !t x@\n",
    "'a b' : |\n  @\n",
    "&a b: |\n @\nc: *a\n",
    "[a, b]: |\n @\n",
    "a: |\r\n  @\r\nb: 1\r\n",
    "---\na: |\n @\n",
    "%YAML 1.1\n---\na: |\n @\n",
    "a: |\n @\n---\n",
    "a: x\u{2028}  @\n",
    "ä: \u{FEFF}|@\n",
];

#[test]
fn real_nesting_behind_harmless_brackets_is_found() {
    for harmless in HARMLESS {
        let text = harmless.replace('@', &"[".repeat(200));
        assert_eq!(too_deep(&text), None, "{harmless:?}");
        for before in ["z: ", "z:\n- ", "z: # [\n  ", "'z' : ", "? - z\n: ", "z: &b !t "] {
            let deep = format!("{text}{before}{}", "[".repeat(20_000));
            assert_eq!(too_deep(&deep), Some(text.len() + before.len() + DEEPEST + 1), "{harmless:?} {before:?}");
        }
    }
}

#[test]
fn guard_refuses_before_the_reader() {
    let may_go_on = |text: &&&str| read(&format!("{}z: 1", text.replace('@', "[["))).is_ok();
    assert!(HARMLESS.iter().filter(may_go_on).count() > 20);
    for harmless in HARMLESS.iter().filter(may_go_on) {
        let text = harmless.replace('@', &"[".repeat(200));
        assert!(Node::parse(&text).is_ok(), "{harmless:?}");
        let deep = format!("{text}z: {}", "[".repeat(20_000));
        // One level is that of the map.
        let expected = text.len() + "z: ".len() + DEEPEST - 1;
        match Node::parse(&deep) {
            Err(Unparsed::TooDeep(at)) => assert_eq!(at, expected, "{harmless:?}"),
            other => panic!("{harmless:?}: {other:?}"),
        }
    }
}

#[test]
fn trouble_before_deep_nesting_is_reported_first() {
    for wrong in ["a: 'b' c\n", "a: b: c\n", "a: @\n", "a: *b\n", "a: 1\n---\n", "a: [1]]\n", "{a: 1}}\n"] {
        let text = format!("{wrong}z: {}", "[".repeat(20_000));
        assert!(matches!(Node::parse(&text), Err(Unparsed::Yaml(error)) if !is_too_deep(&error)), "{wrong:?}");
    }
}

/// The reader steps over the value of a tag without a limit.
#[test]
fn deep_nesting_under_a_tag_is_refused() {
    assert!(read(&format!("a: !t {}", nested(DEEPEST + 1))).is_ok(), "else this shows nothing");
    let parsed = Node::parse(&format!("a: !t {}", nested(DEEPEST + 1)));
    assert!(matches!(parsed, Err(Unparsed::TooDeep(at)) if at == "a: !t ".len() + DEEPEST), "{parsed:?}");
}

/// Pieces of which YAML is made.
const PIECES: &[&str] = &[
    "a",
    "b c",
    ": ",
    ":",
    ":\n",
    "- ",
    "-",
    "? ",
    "?",
    "\n",
    "\n",
    "\n ",
    "\n  ",
    "\n    ",
    "  ",
    " ",
    "\t",
    "[",
    "]",
    "[a]",
    "[]",
    "{",
    "}",
    "{a: 1}",
    "{}",
    ", ",
    ",",
    "'",
    "''",
    "'a'",
    "\"",
    "\"b\"",
    "\\",
    "\\\"",
    "#",
    " # ",
    "|",
    "|\n",
    "|-\n",
    ">\n",
    "|2\n",
    ">1+\n",
    " |\n  ",
    "&x ",
    "*x",
    "!t ",
    "!!str ",
    "!<u,[]> ",
    "!",
    "---",
    "\n---\n",
    "...",
    "\n...\n",
    "%",
    "%TAG ! x\n",
    "\r\n",
    "\r",
    "\u{85}",
    "\u{2028}",
    "\u{FEFF}",
    "ä",
    "€",
    "a: ",
    "\na: ",
    "\n  b: ",
    "\n- ",
    "\n  - ",
    "\n? ",
    "\n: ",
    "@",
    "`",
    "~",
];

/// Brackets behind random text: the reader's limit is reached exactly where the scan finds them open.
#[test]
fn scan_and_reader_agree_on_random_texts() {
    let seed = 0x7011_6A7E;
    let mut random = StdRng::seed_from_u64(seed);
    let (mut deep, mut harmless) = (0, 0);
    for round in 0..50_000 {
        let pieces = random.random_range(1..16);
        let before: String = (0..pieces).filter_map(|_| PIECES.choose(&mut random).copied()).collect();
        let before = before.trim_start_matches('\u{FEFF}');
        let text = format!("{before}{}", "[".repeat(DEEPEST + 1));
        let found = too_deep(&text);
        match read(&text) {
            // An alias within its own anchor is endless too.
            Err(error) if is_too_deep(&error) && !before.contains("*x") => {
                deep += 1;
                assert!(found.is_some(), "seed {seed:#x}, round {round}: missed in {before:?}");
            }
            Ok(_) => {
                harmless += 1;
                assert_eq!(found, None, "seed {seed:#x}, round {round}: {before:?}");
            }
            Err(_) => {}
        }
    }
    assert!(deep > 1000 && harmless > 1000, "{deep} deep, {harmless} harmless");
}
