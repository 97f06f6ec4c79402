//! `docs/threat-model.md` names the test that shows each row: these tests must exist.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn threat_model_names_tests_that_exist() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/threat-model.md")).expect("docs/threat-model.md");
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(|code| code.contains("::")).collect();
    assert!(named.len() > 30, "the page was not read: {} tests", named.len());
    for name in named {
        assert!(exists(name), "there is no end-to-end test {name}");
    }
}

#[test]
fn threat_model_rows_name_tests() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/threat-model.md")).expect("docs/threat-model.md");
    let section = page.split("\n## What a hostile client can try\n").nth(1).expect("the section");
    let section = section.split("\n## ").next().expect("its text");
    for row in section.lines().filter(|line| line.starts_with("| ")).skip(2) {
        assert!(row.contains("::"), "no test is named by the row\n{row}");
    }
}

/// A row that says "nothing" has nothing to test.
#[test]
fn check_claims_of_threat_model_name_tests() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/threat-model.md")).expect("docs/threat-model.md");
    let section = page.split("\n## What cannot be seen\n").nth(1).expect("the section");
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(2);
    let cells = rows.map(|row| (row, row.split(" | ").nth(1).expect("what `check` says")));
    let claims: Vec<(&str, &str)> = cells.filter(|(_, says)| !says.starts_with("nothing")).collect();
    assert!(claims.len() >= 4, "the page was not read: {claims:?}");
    for (row, says) in claims {
        assert!(says.contains("::"), "no test is named by the row\n{row}");
    }
}

/// A test of this name in the file of its module, such as `tests/e2e/rules/trust.rs`.
fn exists(name: &str) -> bool {
    let Some((module, test)) = name.rsplit_once("::") else { return false };
    let file: PathBuf = [ROOT, "tests/e2e"].iter().collect::<PathBuf>().join(module.replace("::", "/"));
    let text = fs::read_to_string(file.with_extension("rs")).unwrap_or_default();
    let plain = text.contains(&format!("#[test]\nfn {test}("));
    // Tests that a macro makes of the rows of a table.
    plain
        || text.contains(&format!("inspected!({test},"))
        || text.contains(&format!("inspected!(\n    {test},"))
        || text.contains(&format!("favouring!({test},"))
}
