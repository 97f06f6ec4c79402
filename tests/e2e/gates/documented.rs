//! The table of what happens when a metric is wrong names the tests that prove it: they must be there, under these names.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn every_row_names_tests_that_exist() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/gates.md")).expect("docs/gates.md");
    let from = page.split("\n## What happens when a metric is wrong\n").nth(1).expect("the section");
    let section = from.split("\n## ").next().expect("its text");
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    let mut proven = 0;
    for row in rows {
        let tests = row.trim_end_matches(" |").rsplit(" | ").next().expect("the last column");
        let (mut place, mut module) = ("", "");
        for word in tests.split(['`', ' ', ',', ';']).filter(|word| !word.is_empty()) {
            if ["health", "probes", "e2e"].contains(&word) {
                place = word;
                continue;
            }
            // A module is said once for those that follow.
            let name = word.rsplit_once("::").map_or(word, |(of, name)| {
                module = of.rsplit("::").next().unwrap_or(of);
                name
            });
            assert!(exists(place, module, name), "there is no test {place} {module}::{name}, of the row\n{row}");
            proven += 1;
        }
    }
    assert!(proven > 50, "the table was not read: {proven} tests");
}

/// A test of this name in the file of this module: `board.rs`, `board/tests.rs`, `servers/failures.rs`, …
fn exists(place: &str, module: &str, name: &str) -> bool {
    let folders = match place {
        "health" => ["crates/health/src", "crates/health/tests"],
        "probes" => ["crates/probes/src", "crates/probes/tests"],
        "e2e" => ["tests/e2e/gates", "tests/e2e/gates"],
        other => panic!("{other:?} is no place of tests"),
    };
    let is_test = format!("fn {name}(");
    let of_module =
        |path: &PathBuf| path.components().any(|part| Path::new(&part).file_stem().is_some_and(|stem| stem == module));
    let mut files = folders.iter().flat_map(|folder| sources(&Path::new(ROOT).join(folder)));
    files.any(|path| of_module(&path) && fs::read_to_string(&path).is_ok_and(|text| text.contains(&is_test)))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let inner = folders.iter().flat_map(|folder| sources(folder));
    files.into_iter().chain(inner).collect()
}
