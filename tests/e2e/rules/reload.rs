//! proxy.yaml changes while clients work.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sandbox::{APP, ETL};
use serde_json::{Value, json};

use super::{AT_ONCE, Answer, primary, ruled, run, word};
use crate::harness::{Raw, Tollgate, upstream, wait_until};

const READ: &str = "SELECT COUNT(*) FROM mysql.plugin";
const EVERYONE: &str = "scope: \"*\"";

/// Everyone stops but `app`, in every plan, by rules with other ids: who sees one rule without the other sees `app` refused, or
/// `etl` pass.
fn plan(number: usize) -> String {
    format!(
        "rules:\n\
         - {{ id: app-{number}, match: {{ user: app }}, do: {{ rejection_ratio: 0 }}, permanent: true }}\n\
         - {{ id: stops-{number}, match: {{ {EVERYONE} }}, do: {{ rejection_ratio: 1 }}, permanent: true }}\n"
    )
}

#[test]
fn a_thousand_reloads_under_load() {
    let tollgate = ruled(&format!("{AT_ONCE}{}", plan(0)));
    let run_time =
        json!({ "id": "of-run-time", "match": { "user": "nobody" }, "do": { "hold": true }, "reason": "test" });
    tollgate.add_rule(&run_time);
    let expires = || {
        let answer: Value = serde_json::from_str(&tollgate.get("/rules").1).expect("JSON");
        let mut rules = answer["rules"].as_array().expect("rules").iter();
        rules.find(|rule| rule["id"] == "of-run-time").expect("the rule")["expires"].clone()
    };
    let ends = expires();
    let (over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for login in [APP, ETL, APP, ETL] {
            let (over, asked, tollgate) = (&over, &asked, &tollgate);
            scope.spawn(move || {
                let mut raw = Raw::login(tollgate.address, login);
                while !over.load(Ordering::Relaxed) {
                    let answer = run(&mut raw, READ);
                    if login == APP {
                        assert_eq!(answer, Answer::Done, "half a plan");
                    } else {
                        let Answer::Err(1226, message) = answer else { panic!("half a plan: {answer:?}") };
                        assert!(word(&message, "rule").starts_with("stops-"), "{message}");
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 1..=1000 {
            tollgate.rewrite(|yaml| format!("{}{}", &yaml[..yaml.find("rules:").expect("rules")], plan(number)));
            assert_eq!(tollgate.post("/reload", "").0, 200);
            // What has been put in force is in force.
            if number.is_multiple_of(100) {
                let Answer::Err(_, message) = run(&mut Raw::login(tollgate.address, ETL), READ) else { panic!("half") };
                assert_eq!(word(&message, "rule"), format!("stops-{number}"));
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(asked.load(Ordering::Relaxed) > 1000);
    assert_eq!(tollgate.generation(), 1002);
    assert_eq!(expires(), ends, "a rule neither gains nor loses time");
}

#[test]
fn a_changed_file_is_in_force_without_being_asked_for() {
    let tollgate = ruled(AT_ONCE);
    let mut raw = Raw::login(tollgate.address, ETL);
    assert_eq!(run(&mut raw, READ), Answer::Done);
    let with_rules = |yaml: &str| format!("{yaml}{}", plan(0));
    tollgate.rewrite(with_rules);
    wait_until("the rule is in force", || run(&mut raw, READ).is_refused());
    // By a rename into place, as editors and configuration tools do it.
    let text = std::fs::read_to_string(tollgate.config()).expect("the file");
    let other = tollgate.config().with_extension("new");
    std::fs::write(&other, text.replace("stops-0", "stops-2").replace(EVERYONE, "user: app2")).expect("writing");
    std::fs::rename(&other, tollgate.config()).expect("renaming");
    wait_until("it is not in force any more", || run(&mut raw, READ) == Answer::Done);
}

/// What the watch takes for a save in progress is in force when somebody asks for it.
#[test]
fn sighup_means_the_file_as_it_is() {
    let tollgate = ruled(AT_ONCE);
    let mut raw = Raw::login(tollgate.address, ETL);
    let beginning = std::fs::read_to_string(tollgate.config()).expect("the file");
    tollgate.rewrite(|yaml| format!("{yaml}{}", plan(0)));
    wait_until("the rules are in force", || run(&mut raw, READ).is_refused());
    let generation = tollgate.generation();
    tollgate.rewrite(|_| beginning);
    wait_until("the watch has refused it", || tollgate.log().contains("is a mere beginning of the file in force"));
    assert!(run(&mut raw, READ).is_refused(), "the old rules stay");
    assert_eq!(tollgate.generation(), generation);
    tollgate.signal("HUP");
    wait_until("the rules are gone", || run(&mut raw, READ) == Answer::Done);
    assert_eq!(tollgate.generation(), generation + 1);
}

/// The file is a link into a folder that is a link itself, and that one is swapped: nothing at the file's own place changes.
#[test]
fn a_swap_as_kubernetes_does_it_is_in_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("..version-0")).expect("a folder");
    symlink("..version-0", at("..data")).expect("a link");
    symlink("..data/proxy.yaml", at("proxy.yaml")).expect("a link");
    let path = folder.path().to_owned();
    // Which writes the file through the links.
    let tollgate = Tollgate::start_in(folder, &format!("{}{AT_ONCE}", upstream(primary())));
    let text = std::fs::read_to_string(tollgate.config()).expect("the file");
    let mut raw = Raw::login(tollgate.address, ETL);
    assert_eq!(run(&mut raw, READ), Answer::Done);
    for number in 1..=2 {
        let version = format!("..version-{number}");
        std::fs::create_dir(path.join(&version)).expect("a folder");
        std::fs::write(path.join(&version).join("proxy.yaml"), format!("{text}{}", plan(number))).expect("writing");
        symlink(&version, path.join("..data_tmp")).expect("a link");
        std::fs::rename(path.join("..data_tmp"), path.join("..data")).expect("renaming");
        let rule = format!("rule=stops-{number} ");
        wait_until(&rule, || matches!(run(&mut raw, READ), Answer::Err(1226, message) if message.contains(&rule)));
        std::fs::remove_dir_all(path.join(format!("..version-{}", number - 1))).expect("the old one");
    }
}

#[test]
fn a_broken_file_changes_nothing_and_says_where() {
    let tollgate = ruled(&format!("{AT_ONCE}{}", plan(0)));
    let good = std::fs::read_to_string(tollgate.config()).expect("the file");
    let mut etl = Raw::login(tollgate.address, ETL);
    let mut app = Raw::login(tollgate.address, APP);
    for (broken, said) in [
        (good.replace("rejection_ratio: 1", "rejection_ratio: 7"), "rejection_ratio"),
        (good.replace("user: app", "usr: app"), "usr"),
        (format!("{good}nonsense: ["), "proxy.yaml:"),
        (good.replace("permanent: true", "permanent: maybe"), "permanent"),
        (good[..good.len() / 2].to_owned(), "beginning"),
        (String::new(), "beginning"),
    ] {
        std::fs::write(tollgate.config(), &broken).expect("writing");
        wait_until(&format!("it says {said}"), || {
            let log = tollgate.log();
            log.lines().last().is_some()
                && log.lines().rev().take(3).any(|line| line.contains("refused") && line.contains(said))
        });
        assert!(run(&mut etl, READ).is_refused(), "{said}");
        assert_eq!(run(&mut app, READ), Answer::Done, "{said}");
        assert_eq!(tollgate.generation(), 1);
    }
    std::fs::remove_file(tollgate.config()).expect("removing");
    assert!(run(&mut etl, READ).is_refused(), "without the file");
}

/// In the guard's words, as `check` has them: see `check_refuses_deep_nesting_with_its_place`.
#[test]
fn reload_refuses_deep_nesting_with_its_place() {
    let tollgate = ruled(&format!("{AT_ONCE}{}", plan(0)));
    let good = std::fs::read_to_string(tollgate.config()).expect("the file");
    let line = good.lines().count() + 3;
    let harmless = format!("playbooks: |\n  {}\n", "[".repeat(129));
    std::fs::write(tollgate.config(), format!("{good}{harmless}deep: {}", "[".repeat(97 * 1024))).expect("writing");
    let (status, body) = tollgate.post("/reload", "");
    let told = format!("proxy.yaml:{line}:134: lists and maps in brackets are nested deeper than 128 levels");
    assert!(status == 400 && body.contains(&told), "{status} no {told:?} in {}", &body[..body.len().min(500)]);
    assert_eq!(tollgate.generation(), 1);
    assert!(run(&mut Raw::login(tollgate.address, ETL), READ).is_refused(), "the old rules stay");
}
