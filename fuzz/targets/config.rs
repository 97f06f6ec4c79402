//! Any text as a configuration, and as a rule in JSON: a plan or an error with a place in the text, a rule or its
//! problems, never a panic; and a rule that was read is read back the same.
#![no_main]

use std::path::Path;

use config::Gate;
use config::rule::{from_json, from_json_text, shown_json};
use libfuzzer_sys::fuzz_target;
use rules::{Origin, Rule, Timestamp};

/// 2026-04-21T10:05:30Z.
const NOW: Timestamp = Timestamp(1_776_765_930_000);
const A_YEAR: i64 = 365 * 24 * 3_600_000;

fuzz_target!(|text: &str| {
    // Secrets and certificates are read from the files that it names; none is named by accident below this.
    match config::Plan::from_text(text, Path::new("nowhere/proxy.yaml")) {
        Ok(plan) => plan.policy.rules.iter().for_each(|rule| comes_back(rule, &plan.policy.gates)),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    match from_json_text(text, &[], NOW) {
        Ok(rule) => comes_back(&rule, &[]),
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|problem| !problem.remedy.is_empty())),
    }
});

/// Of what a rule of the file says, a rule of the run time can say all but that it is permanent.
fn comes_back(rule: &Rule, gates: &[Gate]) {
    let in_time = rule.expires.filter(|end| *end > NOW && end.0 - NOW.0 <= A_YEAR);
    if let Some(expires) = in_time {
        let created = rule.created.or(Some(NOW));
        let rule = Rule { origin: Origin::Runtime, expires: Some(expires), created, ..rule.clone() };
        let json = shown_json(&rule, gates);
        assert_eq!(from_json(&json, gates, NOW), Ok(rule), "{json}");
    }
}
