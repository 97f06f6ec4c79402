use super::*;

#[test]
fn a_scope_is_a_whole_name_one_part_or_a_glob() {
    for (scope, name, matches) in [
        ("etl", "etl", true),
        ("etl", "job-42:etl:warehouse", true),
        ("etl", "job-42:etl2", false),
        ("ETL", "etl", false),
        ("job-42:etl:warehouse", "job-42:etl:warehouse", true),
        ("etl:warehouse", "job-42:etl:warehouse", false),
        ("job-42:etl", "job-42:etl:warehouse", false),
        ("*", "etl", true),
        ("*", "job-42:etl:warehouse", true),
        ("*", "unattributed", true),
        ("job-*", "job-42:etl", true),
        ("job-*", "etl:job-42", true),
        ("job-*", "job-", true),
        ("job-*", "job", false),
        ("job-*", "a-job-42", false),
        ("*:etl:*", "job-42:etl:warehouse", true),
        ("*:etl:*", "a:b:etl:c:d", true),
        ("*:etl:*", "etl:warehouse", false),
        ("*:etl:*", "job-42:etl", false),
        ("*:etl:*", "etl", false),
        ("*:etl:*", "etl:etl:etl", true),
        ("*:etl:*", "etl:etl", false),
        ("*:etl", "a:b:etl", true),
        ("*:etl", "etl", false),
        ("*:etl", "etl:etl", true),
        ("etl:*", "etl:a", true),
        ("etl:*", "etl", false),
        ("*:*", "a", false),
        ("*:*", "a:b", true),
        ("*:*", "a:b:c", true),
        ("job-*:etl", "job-42:etl", true),
        ("job-*:etl", "x:job-42:etl", false),
        ("job-*:*:w*", "job-42:etl:x:warehouse", true),
        ("job-*:*:w*", "job-42:warehouse", false),
        ("*:a:*:b:*", "x:a:a:b:b:y", true),
        ("*:a:*:b:*", "x:a:b:y", false),
        // Neither a whole part nor the end of one.
        ("*.etl.*", "job-42.etl.warehouse", false),
        ("*.etl.*", "*.etl.x", false),
        ("a*b", "ab", false),
        ("a*b", "a*b", false),
        ("*-etl", "x-etl", false),
        ("**", "a", false),
        // No name has an empty part.
        ("a::b", "a:b", false),
        (":etl", "etl", false),
        ("etl:", "etl", false),
    ] {
        assert_eq!(Pattern::new(scope).matches(&Name::new(name)), matches, "{scope} {name}");
    }
}

#[test]
fn a_scope_that_covers_another_matches_whatever_it_matches() {
    let scopes = [
        "*", "a", "b", "ab", "a*", "b*", "ab*", "a:b", "ab:b", "*:a", "a:*", "*:a:*", "*:*", "a*:*", "ab*:b", "*:b*:*",
        "a::",
    ];
    let parts = ["a", "b", "ab", "abc"];
    let mut names: Vec<String> = parts.map(str::to_owned).into();
    for _ in 0..2 {
        names = names.iter().flat_map(|name| parts.map(|part| format!("{name}:{part}"))).chain(names.clone()).collect();
    }
    let mut covered = 0;
    for wide in scopes.map(Pattern::new) {
        for narrow in scopes.map(Pattern::new).iter().filter(|narrow| wide.covers(narrow)) {
            covered += 1;
            for name in names.iter().map(|name| Name::new(name)) {
                assert!(!narrow.matches(&name) || wide.matches(&name), "{wide:?} {narrow:?} {name}");
            }
        }
    }
    assert!(covered > 40, "{covered}");
}

#[test]
fn a_long_name_against_many_stars_is_quick() {
    // The number of ways to share the parts out is beyond counting; it takes no time.
    let name = Name::new(&vec!["a"; 2000].join(":"));
    assert!(!Pattern::new(&format!("{}:b", vec!["*:a"; 200].join(":"))).matches(&name));
    assert!(Pattern::new(&vec!["*:a"; 200].join(":")).matches(&name));
}
