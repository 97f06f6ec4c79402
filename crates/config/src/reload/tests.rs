//! Real files, changed as editors, deployments and accidents change them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rules::{RuleId, Timestamp};
use tempfile::TempDir;

use super::{Applied, LOOK_EVERY, Looker, Next, Outcome, Reloader, Trigger, Watch};
use crate::tests::now;

const BEGINNING: &str = "upstream: { address: 127.0.0.1 }\nprobe: { user: a, password: 'x' }\n";

fn rule(id: &str, ratio: &str) -> String {
    format!("  - {{ id: {id}, match: {{ user: {id} }}, do: {{ rejection_ratio: {ratio} }}, permanent: true }}\n")
}

/// A file of these rules, and what watches it.
struct Bench {
    folder: TempDir,
    reloader: Reloader,
    looker: Looker,
    watch: Watch,
    time: Instant,
}

impl Bench {
    fn new(text: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proxy.yaml");
        fs::write(&path, text).unwrap();
        let (reloader, _) = Reloader::start(&path).unwrap();
        let time = Instant::now();
        let mut looker = reloader.looker();
        let watch = Watch::new(looker.look(time));
        Bench { folder, reloader, looker, watch, time }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("proxy.yaml")
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    /// What comes of the file within the next second, if it is read at all.
    fn watched(&mut self) -> Option<Outcome> {
        for _ in 0..10 {
            self.time += LOOK_EVERY;
            if self.watch.look(self.looker.look(self.time), self.time) == Next::Read {
                return Some(self.reloader.reload(Trigger::Watch, &[], now()));
            }
        }
        None
    }

    fn applied(&mut self) -> Applied {
        match self.watched() {
            Some(Outcome::Applied(applied)) => applied,
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self) -> String {
        match self.watched() {
            Some(Outcome::Refused(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.reloader.plan().policy.rules.iter().map(|rule| rule.id.to_string()).collect()
    }
}

#[test]
fn a_saved_file_is_in_force_within_a_second() {
    let mut bench = Bench::new(BEGINNING);
    assert!(bench.watched().is_none(), "nothing has changed");
    bench.write(&format!("{BEGINNING}rules:\n{}", rule("etl", "0.9")));
    let applied = bench.applied();
    assert_eq!((applied.generation, applied.diff.to_string().as_str()), (2, "+ rule etl"));
    assert!(applied.needs_restart.is_empty());
    assert_eq!(applied.plan.policy.rules.len(), 1);
    assert_eq!(bench.ids(), ["etl"]);

    bench.write(&format!("{BEGINNING}# a word\nrules:\n{}", rule("etl", "0.9")));
    assert!(matches!(bench.watched(), Some(Outcome::Unchanged)));
    assert_eq!(bench.reloader.generation(), 2);
}

#[test]
fn gates_and_metrics_take_effect_at_once() {
    let mut bench = Bench::new(BEGINNING);
    let metric = "metrics: { db: { http: 'http://127.0.0.1:9100/load' } }\n";
    for (rest, changes) in [
        (
            format!("{metric}gates:\n  db: {{ threshold: 5 }}\n  queue_length: {{ threshold: 100 }}\n"),
            "+ gate db\n+ gate queue_length\n+ metric db",
        ),
        (
            format!("{metric}gates:\n  db: {{ threshold: 6, mode: warn }}\n  queue_length: {{ threshold: 100 }}\n"),
            "~ gate db: mode, threshold",
        ),
        (
            "metrics: { db: { http: 'http://127.0.0.1:9100/load', timeout: 2s } }\ngates:\n  db: { threshold: 6, mode: warn }\n"
                .to_owned(),
            "- gate queue_length\n~ metric db: timeout",
        ),
    ] {
        bench.write(&format!("{BEGINNING}{rest}"));
        let applied = bench.applied();
        assert_eq!((applied.diff.to_string().as_str(), applied.needs_restart.len()), (changes, 0));
    }
    assert_eq!(bench.reloader.plan().policy.gates[0].settings.threshold, 6.0);
    // What is asked, and whom, waits.
    let heartbeat = BEGINNING.replace("password: 'x'", "password: 'x', heartbeat: percona.heartbeat");
    let gates = "metrics: { db: { http: 'http://127.0.0.1:9100/load', timeout: 2s } }\ngates:\n  db: { threshold: 6, mode: warn }\n";
    bench.write(&format!("{}{gates}", heartbeat.replace("127.0.0.1 }", "127.0.0.1, on_demotion: keep }")));
    match bench.watched() {
        Some(Outcome::NeedsRestart { keys }) => assert_eq!(keys, ["upstream.on_demotion", "probe"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rename_into_place_and_a_swapped_link_are_seen() {
    let mut bench = Bench::new(BEGINNING);
    let at = |name: &str| bench.folder.path().join(name);
    let (new, data, swapped, path) = (at("new"), at("..data"), at("..data_tmp"), at("proxy.yaml"));
    let versions = [at("..1"), at("..2")];
    fs::write(&new, format!("{BEGINNING}rules:\n{}", rule("renamed", "0.9"))).unwrap();
    fs::rename(&new, &path).unwrap();
    assert_eq!(bench.applied().diff.to_string(), "+ rule renamed");

    for (version, id) in versions.iter().zip(["first", "second"]) {
        fs::create_dir(version).unwrap();
        fs::write(version.join("proxy.yaml"), format!("{BEGINNING}rules:\n{}", rule(id, "0.9"))).unwrap();
    }
    symlink("..1", &data).unwrap();
    fs::remove_file(&path).unwrap();
    symlink("..data/proxy.yaml", &path).unwrap();
    assert_eq!(bench.applied().diff.to_string(), "+ rule first\n- rule renamed");
    symlink("..2", &swapped).unwrap();
    fs::rename(&swapped, &data).unwrap();
    assert_eq!(bench.applied().diff.to_string(), "+ rule second\n- rule first");
    assert_eq!(bench.reloader.generation(), 4);
}

#[test]
fn a_file_that_cannot_be_used_changes_nothing() {
    let mut bench = Bench::new(&format!("{BEGINNING}rules:\n{}", rule("etl", "0.9")));
    let path = bench.path();
    bench.write(&format!("{BEGINNING}rules:\n{}", rule("etl", "90")));
    let said = bench.refused();
    assert!(said.contains("proxy.yaml:4:61: rules[0].do.rejection_ratio: 90 is more than 1"), "{said}");
    assert!(said.contains("write `0.9`"), "{said}");
    fs::remove_file(&path).unwrap();
    assert!(bench.refused().contains("cannot read"));
    fs::create_dir(&path).unwrap();
    assert!(bench.refused().contains("cannot read"));
    fs::remove_dir(&path).unwrap();
    symlink("nowhere", &path).unwrap();
    assert!(bench.refused().contains("cannot read"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, [0xff, 0xfe, b'\n']).unwrap();
    assert!(bench.refused().contains("cannot read"));
    bench.write(&"#".repeat(2 << 20));
    assert!(bench.refused().contains("1 MiB"));
    assert_eq!((bench.ids(), bench.reloader.generation()), (vec!["etl".to_owned()], 1));
    bench.write(&format!("{BEGINNING}rules:\n{}{}", rule("etl", "0.9"), rule("bi", "0.5")));
    assert_eq!(bench.applied().diff.to_string(), "+ rule bi");
}

#[test]
fn half_a_file_is_refused_wherever_it_is_cut() {
    let text = format!(
        "{BEGINNING}rules:\n{}{}defaults: {{ max_delay: 5s, mode: warn }}\nqueue: {{ total: 20 }}\n# the end\n",
        rule("etl", "0.9"),
        rule("été", "0.5")
    );
    let mut bench = Bench::new(&text);
    let plan = bench.reloader.plan().clone();
    let mut refused = 0;
    for end in 0..text.len() {
        fs::write(bench.path(), &text.as_bytes()[..end]).unwrap();
        match bench.reloader.reload(Trigger::Watch, &[], now()) {
            Outcome::Refused(_) => refused += 1,
            // Nothing but the last comment is missing.
            Outcome::Unchanged => assert!(end + "\n# the end\n".len() >= text.len(), "{end}"),
            other => panic!("cut at {end}: {other:?}"),
        }
        assert_eq!(**bench.reloader.plan(), *plan);
        // The rest of the save.
        bench.write(&text);
        assert!(matches!(bench.reloader.reload(Trigger::Watch, &[], now()), Outcome::Unchanged));
    }
    assert!(refused > 300, "{refused}");

    // Who asks for it gets it.
    let (cut, _) = text.split_once("defaults:").unwrap();
    bench.write(cut);
    assert!(bench.refused().contains("mere beginning"), "the watch refuses it");
    let outcome = bench.reloader.reload(Trigger::Request, &[], now());
    let Outcome::Applied(applied) = outcome else { panic!("{outcome:?}") };
    let expected = "~ defaults.mode: warn → enforce\n~ defaults.max_delay: 5s → 3s\n~ queue.per_identity: 20 → 256\n~ queue.total: 20 → 10000";
    assert_eq!(applied.diff.to_string(), expected);
}

#[test]
fn what_needs_a_restart_says_so_and_the_rest_takes_effect() {
    let mut bench = Bench::new(BEGINNING);
    let other = BEGINNING.replace("127.0.0.1", "127.0.0.2");
    bench.write(&format!("{other}workers: 3\n"));
    let Some(Outcome::NeedsRestart { keys }) = bench.watched() else { panic!() };
    assert_eq!(keys, ["upstream.address", "workers"]);
    assert_eq!(bench.reloader.plan().upstream.address.to_string(), "127.0.0.1:3306");

    bench.write(&format!("{other}workers: 3\nstate_dir: elsewhere\nrules:\n{}", rule("etl", "0.9")));
    let applied = bench.applied();
    assert_eq!(applied.needs_restart, ["upstream.address", "workers", "state_dir"]);
    assert_eq!(applied.plan.upstream.address.to_string(), "127.0.0.1:3306");
    assert_eq!((applied.generation, applied.plan.policy.rules.len()), (2, 1));
}

#[test]
fn a_rule_of_the_run_time_keeps_its_id() {
    let mut bench = Bench::new(BEGINNING);
    bench.write(&format!("{BEGINNING}rules:\n{}{}", rule("bi", "0.9"), rule("etl", "0.9")));
    let taken: [RuleId; 2] = ["etl".into(), "other".into()];
    let Outcome::Refused(error) = bench.reloader.reload(Trigger::Request, &taken, now()) else { panic!() };
    assert!(
        error.to_string().contains("proxy.yaml:5:11: rules[1].id: a rule added at run time has the id `etl` already"),
        "{error}"
    );
    assert!(bench.ids().is_empty());
    assert!(matches!(bench.reloader.reload(Trigger::Request, &[], now()), Outcome::Applied(_)));
}

#[test]
fn every_change_is_named() {
    let old = format!(
        "{BEGINNING}rules:\n{}{}{}playbooks:\n  p:\n    - {{ id: a, match: {{ user: x }}, do: {{ hold: true }}, for: 2h }}\n",
        rule("a", "0.1"),
        rule("b", "0.2"),
        rule("c", "0.3")
    );
    let new = format!(
        "{BEGINNING}rules:\n{}{}{}playbooks:\n  p:\n    - {{ id: a, match: {{ user: x }}, do: {{ hold: true }}, for: 3h }}\n  q:\n    - {{ id: a, match: {{ user: x }}, do: {{ hold: true }} }}\nidentity: {{ name: [user], trust_claims_of: [app, 10.0.0.0/8] }}\nheartbeat_writers: {{ users: [hb], tables: [] }}\n",
        rule("c", "0.3"),
        rule("a", "0.9").replace("permanent: true", "expires: 2030-01-01T00:00:00Z, mode: warn"),
        rule("d", "0.4")
    );
    let mut bench = Bench::new(&old);
    bench.write(&new);
    let expected = "\
~ rule a: do, expires, mode, permanent
+ rule d
- rule b
~ playbook p: rules
+ playbook q
~ identity.name: [client, tag.app, attr.program_name, user] → [user]
~ identity.trust_claims_of: [] → [app, 10.0.0.0/8]
~ heartbeat_writers.users: [] → [hb]
~ heartbeat_writers.tables: [heartbeat.heartbeat, percona.heartbeat, tollgate.heartbeat] → []";
    assert_eq!(bench.applied().diff.to_string(), expected);
}

#[test]
fn the_order_of_keys_is_of_no_account() {
    let rule = |matching: &str| {
        format!("{BEGINNING}rules: [{{ id: a, match: {{ {matching} }}, do: {{ hold: true }}, permanent: true }}]\n")
    };
    let mut bench = Bench::new(&rule("user: x, class: write, not: { schema: s, address: 10.0.0.1 }"));
    bench.write(&rule("not: { address: 10.0.0.1, schema: s }, class: write, user: x"));
    assert!(matches!(bench.watched(), Some(Outcome::Unchanged)));
    bench.write(&rule("not: { address: 10.0.0.1, schema: t }, class: write, user: x"));
    assert_eq!(bench.applied().diff.to_string(), "~ rule a: match");
}

#[test]
fn the_order_of_rules_is_of_no_account() {
    let mut bench = Bench::new(&format!("{BEGINNING}rules:\n{}{}", rule("a", "0.1"), rule("b", "0.2")));
    bench.write(&format!("{BEGINNING}rules:\n{}{}", rule("b", "0.2"), rule("a", "0.1")));
    assert!(matches!(bench.watched(), Some(Outcome::Unchanged)));
}

#[test]
fn reading_the_file_again_does_not_move_an_expiry() {
    let text =
        format!("{BEGINNING}rules:\n{}", rule("a", "0.1").replace("permanent: true", "expires: 2026-04-21T16:00:00Z"));
    let mut bench = Bench::new(&text);
    bench.write(&format!("{text}{}", rule("b", "0.2")));
    let later = now().plus(Duration::from_secs(3600));
    let Outcome::Applied(applied) = bench.reloader.reload(Trigger::Watch, &[], later) else { panic!() };
    assert_eq!(applied.plan.policy.rules[0].expires, Timestamp::parse("2026-04-21T16:00:00Z"));
}

#[test]
fn a_thousand_reloads_are_a_thousand_generations() {
    let mut bench = Bench::new(BEGINNING);
    for generation in 2..=1000 {
        bench.write(&format!("{BEGINNING}rules:\n{}", rule(&format!("r{generation}"), "0.9")));
        let Outcome::Applied(applied) = bench.reloader.reload(Trigger::Watch, &[], now()) else { panic!() };
        assert_eq!(applied.generation, generation);
    }
}
