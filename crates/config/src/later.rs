//! Keys that the specification names and this version does not act on.
//!
//! They are refused rather than skipped: who writes a rule today must not believe that it is in force.

const NOT_YET: &[(&str, &str)] = &[
    ("admin.console", "there is no console yet"),
    ("do.budget", "there are no budgets yet"),
    ("do.kill_after", "nothing is killed yet by a rule"),
];

const RESERVED: &[(&str, &str, &str)] = &[
    ("upstreams", "several databases behind one proxy", "write `upstream:` for the one database of this proxy"),
    ("cluster", "several proxies that act as one", "each proxy counts its limits by itself"),
];

/// What is wrong with a key of the specification that is not among the keys of this version, and what to do. The path
/// is a pattern, as in `rules[].do.budget`; a rule's keys are the same wherever it stands.
pub(crate) fn word_on(path: &str) -> Option<(String, String)> {
    let path = path.strip_prefix("rules[].").or_else(|| path.strip_prefix("playbooks.*[].")).unwrap_or(path);
    if let Some((_, means, remedy)) = RESERVED.iter().find(|(key, ..)| *key == path) {
        let what = format!("this key is reserved for {means}, which is not in this version");
        return Some((what, format!("take it out; {remedy}")));
    }
    let (_, why) = NOT_YET.iter().find(|(key, _)| *key == path)?;
    Some((format!("not yet in this version: {why}"), "take it out; this version would not act on it".to_owned()))
}
