//! Every way to be refused, word for word: `refused.txt` holds files and what is printed for them.
//!
//! After a change of words, `UPDATE=1 cargo test -p config` writes the new ones; read the difference before committing.

use super::load_text;

const CASES: &str = include_str!("refused.txt");

struct Case<'a> {
    name: &'a str,
    yaml: &'a str,
    printed: &'a str,
}

fn cases() -> Vec<Case<'static>> {
    let blocks = CASES.split("==== ").skip(1);
    let cases = blocks.map(|block| {
        let (name, rest) = block.split_once('\n').expect("a name");
        let (yaml, printed) = rest.split_once("----\n").expect("a line of dashes");
        Case { name, yaml, printed: printed.trim_end() }
    });
    cases.collect()
}

fn printed(yaml: &str) -> String {
    match load_text(yaml) {
        Ok(_) => "accepted".to_owned(),
        // Editors and `git diff --check` dislike spaces at the end of a line.
        Err(error) => error.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n"),
    }
}

#[test]
fn every_error_is_printed_as_written_down() {
    if std::env::var_os("UPDATE").is_some() {
        let blocks = cases()
            .into_iter()
            .map(|case| format!("==== {}\n{}----\n{}\n\n", case.name, case.yaml, printed(case.yaml)));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/refused.txt");
        std::fs::write(path, blocks.collect::<String>()).expect("the file of cases");
        return;
    }
    assert!(cases().len() >= 40);
    for case in cases() {
        assert_eq!(printed(case.yaml), case.printed, "\n{}:\n{}", case.name, case.yaml);
    }
}

#[test]
fn every_error_has_a_place_and_a_remedy() {
    for case in cases() {
        let error = load_text(case.yaml).expect_err(case.name);
        assert!(!error.problems().is_empty(), "{}", case.name);
        for problem in error.problems() {
            assert!(problem.line > 0 && problem.column > 0, "{}", case.name);
            assert!(!problem.what.is_empty() && !problem.remedy.is_empty(), "{}", case.name);
            assert!(problem.line <= case.yaml.lines().count().max(1), "{}", case.name);
        }
    }
}

#[test]
fn no_error_shows_a_password() {
    for yaml in [
        "probe: { user: a, password: hunter2, extra: 1 }",
        "probe: { password: hunter2 }",
        "probe:\n  user: a\n  pasword: hunter2\n",
        "probe: hunter2\nprobe: { password: hunter2 }",
        "probe:\n  user: a\n  password: [hunter2]\n",
        "probe:\n  user: a\n  password: \"hunter2\n",
        "probe:\n  user: a\n  password: hunter2: x\n",
        "probe:\n  password: hunter2\n  password: hunter2\n",
        "upstream: { address: db, password: hunter2 }",
    ] {
        let text = load_text(yaml).expect_err(yaml).to_string();
        let shown = text.lines().filter(|line| line.contains("hunter2") && !line.contains("probe: hunter2"));
        assert_eq!(shown.count(), 0, "{text}");
    }
}

#[test]
fn a_file_cut_at_any_byte_gives_a_plan_or_an_error() {
    let starter = include_str!("../../../../proxy.yaml");
    for text in cases().iter().map(|case| case.yaml).chain([starter]) {
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = load_text(&text[..end]);
        }
    }
}

#[test]
fn of_many_bad_rules_the_first_are_shown() {
    let rule = |number: usize| {
        format!("  - {{ id: r{number}, match: {{ user: x }}, do: {{ rejection_ratio: 9 }}, permanent: true }}\n")
    };
    for (rules, shown) in [(10, 10), (39, 39), (1000, 40), (9000, 6)] {
        let text: String = (0..rules).map(rule).collect();
        let error = load_text(&format!("upstream: {{ address: 127.0.0.1 }}\nrules:\n{text}")).expect_err("bad");
        assert_eq!(error.problems().len(), shown, "{rules} rules");
        let more = format!("and {} more like these", rules - (shown - 1).min(rules));
        assert_eq!(error.to_string().contains(&more), shown < rules, "{rules} rules");
    }
}

#[test]
fn hostile_yaml_is_refused_and_not_followed() {
    let nested = format!("upstream: {}", "[".repeat(2000));
    let closed = format!("upstream: {}{}", "[".repeat(2000), "]".repeat(2000));
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (this, last) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        laughs.push_str(&format!("{this}: &{this} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]\n"));
    }
    let many: String = (0..1000).map(|number| format!("key{number}: 1\n")).collect();
    for text in [nested, closed, laughs, "a: &a [*a]".to_owned(), "\0".to_owned(), "\u{feff}".to_owned(), many] {
        let error = load_text(&text).expect_err("hostile");
        assert!((1..=40).contains(&error.problems().len()));
    }
}
