use super::*;
use crate::samples::BEGINNING;
use crate::stage::{At, Setup, Stage, Who};

const OUTSIDE: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };
const WITHIN: SessionState = SessionState { in_transaction: true, ..OUTSIDE };
const LOCKING: SessionState = SessionState { holds_locks: true, ..OUTSIDE };

fn explain(stage: &Stage, who: &str, sql: &str, state: SessionState) -> Explanation {
    stage.keeper.explain(&Who::new(who).client(), sql.as_bytes(), &scan(sql), state, &[])
}

fn scan(sql: &str) -> Scan {
    statement::scan(sql.as_bytes(), statement::Mode::default())
}

/// What would come of it, as a sentence, and the reason in the refusal.
#[tokio::test(start_paused = true)]
async fn rulings() {
    let stage = Stage::new(&[
        "ratio | user=ratio | ratio=0.9 delay=10000",
        "dice | user=dice | ratio=0.25 reject",
        "none | user=none | ratio=0",
        "free | user=free | exempt",
        "held | user=held class=write | hold expires=5000",
        "limit | user=limit,none | concurrency=4",
        "wide | user=limit class=read | concurrency=9",
        "ops | user=ops | exempt concurrency=2",
        "one | user=one | concurrency=1 reject",
    ]);
    let mut running = stage.login("limit");
    assert!(matches!(running.ask("SELECT * FROM t"), crate::port::Verdict::Pass(_)));
    let ends = BEGINNING.plus(std::time::Duration::from_secs(5));
    let until = format!("held by held for 1s at most, or until it ends at {ends}, then refused");
    let (read, write) = ("SELECT * FROM t", "UPDATE t SET a = 1");
    for (who, sql, state, words, refused) in [
        ("ratio", "SELECT 1", OUTSIDE, "passes: it is never delayed", None),
        ("other", read, OUTSIDE, "passes: no rule decides", None),
        (
            "ratio",
            read,
            OUTSIDE,
            "90 % lose by ratio and are held, to roll again about every 100 ms for 10s at most, then refused; the others pass",
            Some("ratio"),
        ),
        (
            "ratio",
            write,
            WITHIN,
            "90 % lose by ratio and are held, to roll again about every 100 ms for 1s at most, then refused; the others pass",
            Some("ratio"),
        ),
        ("ratio", read, WITHIN, "passes: its transaction has been decided", None),
        ("ratio", write, LOCKING, "passes: its transaction has been decided", None),
        ("dice", read, OUTSIDE, "25 % lose by dice and are refused at once; the others pass", Some("ratio")),
        (
            "none",
            read,
            OUTSIDE,
            "passes: none lets all pass with a place under limit (1 of 4 taken; it waits 3s at most)",
            Some("concurrency"),
        ),
        ("free", write, OUTSIDE, "passes: exempt by free", None),
        ("held", read, OUTSIDE, "passes: no rule decides", None),
        ("held", write, WITHIN, &until, Some("hold")),
        (
            "limit",
            read,
            OUTSIDE,
            "passes with a place under limit (1 of 4 taken; it waits 3s at most) \
             and under wide (1 of 9 taken; it waits 3s at most)",
            Some("concurrency"),
        ),
        ("ops", read, OUTSIDE, "passes: exempt by ops, counted under ops (0 of 2 taken)", None),
        ("one", read, OUTSIDE, "passes with a place under one (0 of 1 taken; no waiting)", Some("concurrency")),
    ] {
        let explained = explain(&stage, who, sql, state);
        assert_eq!(explained.ruling.to_string(), words, "{who}: {sql}");
        let message = explained.refusal.map(|refusal| refusal.message);
        match refused {
            Some(reason) => {
                assert!(message.as_ref().is_some_and(|it| it.contains(&format!("reason={reason}"))), "{message:?}")
            }
            None => assert_eq!(message, None, "{who}: {sql}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn both_judgements_and_who_is_who() {
    let stage = Stage::new(&["all | scope=* | ratio=0.9", "one | scope=checkout | ratio=0"]);
    let sql = "/*app='checkout'*/ UPDATE t SET a = 1 WHERE b = 'x'";
    let explained = explain(&stage, "app program_name=web", sql, OUTSIDE);
    assert_eq!(explained.claimed.name.as_str(), "checkout:web:app");
    assert_eq!(explained.trusted.as_ref().map(|identity| identity.name.as_str()), Some("app"));
    assert_eq!((explained.class, explained.free), (Class::Write, false));
    assert_eq!(explained.turn, Turn::Decide(Bound::Full));
    assert_eq!(explained.fingerprints, [statement::fingerprint(sql.as_bytes(), statement::Mode::default())]);
    let said: Vec<(Facts, &str, bool, usize)> = explained
        .judgements
        .iter()
        .flat_map(|judged| judged.considered.iter().map(|it| (judged.on, &*it.rule, it.matches, it.owns.len())))
        .collect();
    let expected = [
        (Facts::All, "one", true, 1),
        (Facts::All, "all", true, 0),
        (Facts::Trusted, "all", true, 1),
        (Facts::Trusted, "one", false, 0),
    ];
    assert_eq!(said, expected);
    assert_eq!(explained.owners.share.as_deref(), Some("all"), "the stricter stands");
    let message = explained.refusal.unwrap().message;
    assert!(message.contains("rule=all reason=ratio client=checkout:web:app"), "{message}");

    let trusting = Setup::trusting("app").stage(&["all | scope=* | ratio=0.9", "one | scope=checkout | ratio=0"]);
    let explained = explain(&trusting, "app program_name=web", sql, OUTSIDE);
    assert_eq!((explained.trusted, explained.judgements.len()), (None, 1));
    assert_eq!(explained.ruling.to_string(), "passes: one lets all pass");
}

#[tokio::test(start_paused = true)]
async fn what_only_warns_is_told_apart() {
    for (setup, rule, ruling, would_be) in [
        (Setup::default(), "r | scope=* | ratio=1 reject warn", "passes: no rule decides", true),
        (Setup::in_mode(RuleMode::Warn), "r | scope=* | ratio=1 reject", "passes: no rule decides", true),
        (Setup::in_mode(RuleMode::Off), "r | scope=* | ratio=1 reject", "passes: no rule decides", false),
        (Setup::default(), "r | scope=* | ratio=1 reject off", "passes: no rule decides", false),
    ] {
        let explained = explain(&setup.stage(&[rule]), "app", "SELECT * FROM t", OUTSIDE);
        assert_eq!(explained.ruling.to_string(), ruling, "{rule}");
        let words = explained.would_be.map(|ruling| ruling.to_string());
        let expected = "100 % lose by r and are refused at once; the others pass".to_owned();
        assert_eq!(words, would_be.then_some(expected), "{rule}");
        assert_eq!((explained.owners, explained.refusal), (Owned::default(), None));
    }
}

#[tokio::test(start_paused = true)]
async fn query_attributes_count() {
    let stage = Stage::new(&["r | query_attr.job=x | ratio=1 reject"]);
    let attributes = [(b"job".to_vec(), b"x".to_vec())];
    let who = Who::new("app");
    let explained =
        stage.keeper.explain(&who.client(), b"SELECT * FROM t", &scan("SELECT * FROM t"), OUTSIDE, &attributes);
    assert_eq!(explained.owners.share.as_deref(), Some("r"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_counted_and_nothing_is_taken() {
    let stage = Stage::new(&["r | scope=* | ratio=0.5 concurrency=1 connections=1"]);
    for number in 0..100 {
        explain(&stage, &format!("user{number}"), "SELECT * FROM t /* app:x */", OUTSIDE);
    }
    assert!(stage.keeper.clients().is_empty());
    assert_eq!((stage.keeper.used("r"), stage.keeper.waiting(), stage.keeper.conflicts()), ((0, 0), 0, 0));
    assert_eq!(stage.keeper.policy().rules.rules()[0].hits().matched(), 0);
    // The dice are as if it had not been asked.
    let rolls = async |stage: &Stage, asks: bool| {
        let mut session = stage.login("app");
        let mut passed = Vec::new();
        for _ in 0..50 {
            if asks {
                explain(stage, "app", "SELECT * FROM t", OUTSIDE);
            }
            passed.push(session.at("SELECT * FROM t").await == At::Once);
        }
        passed
    };
    let rule = &["r | scope=* | ratio=0.5 reject"];
    assert_eq!(rolls(&Stage::new(rule), true).await, rolls(&Stage::new(rule), false).await);
}

const LAG: &str = "replication_lag replication_lag 5 | | binary";
const READ: &str = "SELECT * FROM t";
const WRITE: &str = "UPDATE t SET a = 1";

/// Each gate's name, whether it concerns the statement and why, and what it does.
fn at_gates(explained: &Explanation) -> Vec<(String, String, String)> {
    let of = |gate: &AtGate| (gate.gate.to_string(), gate.concerns.to_string(), gate.says());
    explained.gates.iter().map(of).collect()
}

fn reasons(explained: &Explanation) -> Vec<String> {
    let refusals = [&explained.refusal, &explained.gate_refusal];
    let reason = |refusal: &Refusal| {
        let word = refusal.message.split_whitespace().find_map(|word| word.strip_prefix("reason="));
        word.unwrap_or_else(|| panic!("{}", refusal.message)).to_owned()
    };
    refusals.into_iter().flatten().map(reason).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_closed_gate_does_with_it() {
    let gates = [
        LAG,
        "quick replication_lag 5 | user=quick | binary reject",
        "threads threads_running 40 | | permits",
        "unused replication_lag 1 | | binary off",
    ];
    let stage = Setup::gated(&gates).stage(&[
        "ratio | user=ratio | ratio=0.9",
        "none | user=none | ratio=0",
        "free | user=free | exempt",
        "skips | user=skips | skip=replication_lag",
        "strict | user=strict | threshold=replication_lag:2",
        "loose | user=loose | threshold=replication_lag:10",
        "limit | user=limit | concurrency=1",
        "held | user=held | hold",
    ]);
    stage.measure(&[("replication_lag", 6.0), ("threads_running", 1.0)]).await;
    let standing = "6.0s of 5.0s; closed; 0 wait";
    let held = format!("held at gate replication_lag ({standing}) for 3s at most, then refused");
    let cases = [
        ("app", READ, OUTSIDE, "passes: no rule decides".to_owned(), &[] as &[&str]),
        ("app", WRITE, OUTSIDE, held.clone(), &["gate:replication_lag"]),
        ("app", WRITE, WITHIN, held.replace("3s at", "1s at"), &["gate:replication_lag"]),
        ("app", READ, WITHIN, "passes: its transaction has been decided".to_owned(), &[]),
        ("app", "COMMIT", WITHIN, "passes: it is never delayed".to_owned(), &[]),
        ("app", WRITE, LOCKING, "passes: its transaction has been decided".to_owned(), &[]),
        (
            "ratio",
            WRITE,
            OUTSIDE,
            format!(
                "90 % lose by ratio and are held, to roll again about every 100 ms for 3s at most, then refused; the others are {held}"
            ),
            &["ratio", "gate:replication_lag"],
        ),
        ("none", WRITE, OUTSIDE, format!("none lets all pass, and it is {held}"), &["gate:replication_lag"]),
        ("free", WRITE, OUTSIDE, "passes: exempt by free".to_owned(), &[]),
        ("skips", WRITE, OUTSIDE, "passes: no rule decides".to_owned(), &[]),
        ("strict", WRITE, OUTSIDE, held.replace("5.0s", "2.0s by strict"), &["gate:replication_lag"]),
        ("loose", WRITE, OUTSIDE, "passes: no rule decides".to_owned(), &[]),
        (
            "limit",
            WRITE,
            OUTSIDE,
            format!("{held} with a place under limit (0 of 1 taken; it waits 3s at most)"),
            &["gate:replication_lag"],
        ),
        ("held", WRITE, OUTSIDE, "held by held for 3s at most, then refused".to_owned(), &["hold"]),
    ];
    for (who, sql, state, words, refused) in cases {
        let explained = explain(&stage, who, sql, state);
        assert_eq!(explained.ruling.to_string(), words, "{who}: {sql}");
        assert_eq!(reasons(&explained), refused, "{who}: {sql}");
        assert_eq!(explained.would_be, None, "{who}: {sql}");
    }
    let names = |explained: &Explanation| at_gates(explained).into_iter().map(|(_, why, does)| (why, does)).collect();
    let expected = |said: [(&str, &str); 4]| -> Vec<(String, String)> {
        said.iter().map(|(why, does)| ((*why).to_owned(), (*does).to_owned())).collect()
    };
    let everybody = "concerns everybody's of this class";
    for (who, sql, said) in [
        (
            "app",
            WRITE,
            [
                ("its match does not fit", "its match does not fit"),
                (everybody, "waits 3s at most, then refused"),
                (everybody, "passes"),
                ("off", "off"),
            ],
        ),
        (
            "quick",
            READ,
            [
                ("not for this class", "not for this class"),
                ("not for this class", "not for this class"),
                (everybody, "passes"),
                ("off", "off"),
            ],
        ),
        (
            "quick",
            WRITE,
            [
                ("its match fits", "refused at once"),
                (everybody, "waits 3s at most, then refused"),
                (everybody, "passes"),
                ("off", "off"),
            ],
        ),
        (
            "skips",
            WRITE,
            [
                ("its match does not fit", "its match does not fit"),
                (everybody, "passes: skips skips it"),
                (everybody, "passes"),
                ("off", "off"),
            ],
        ),
        (
            "free",
            WRITE,
            [
                ("its match does not fit", "its match does not fit"),
                (everybody, "passes: exempt by free"),
                (everybody, "passes: exempt by free"),
                ("off", "off"),
            ],
        ),
    ] {
        let found: Vec<(String, String)> = names(&explain(&stage, who, sql, OUTSIDE));
        assert_eq!(found, expected(said), "{who}: {sql}");
    }
    stage.assert_settled();
}

/// What is explained is what happens.
#[tokio::test(start_paused = true)]
async fn a_gate_does_what_was_explained() {
    let gates = [LAG, "threads threads_running 40 | | binary reject"];
    let rules = [
        "free | user=free | exempt",
        "skips | user=skips | skip=replication_lag",
        "strict | user=strict | threshold=replication_lag:2",
        "loose | user=loose | threshold=replication_lag:10",
    ];
    let stage = Setup::gated(&gates).stage(&rules);
    for (lag, threads) in [(1.0, 10.0), (3.0, 10.0), (6.0, 10.0), (11.0, 10.0), (1.0, 50.0), (6.0, 50.0)] {
        stage.measure(&[("replication_lag", lag), ("threads_running", threads)]).await;
        for who in ["app", "free", "skips", "strict", "loose"] {
            for sql in [READ, WRITE, "COMMIT"] {
                let explained = explain(&stage, who, sql, OUTSIDE);
                let passes = explained.ruling.stopped_at().is_none();
                let mut session = stage.login(who);
                let passed = session.at(sql).await == At::Once;
                assert_eq!(passes, passed, "{who}: {sql} at lag {lag}, threads {threads}: {}", explained.ruling);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_queue_and_a_trickle_are_seen() {
    let stage = Setup::gated(&["lag replication_lag 5 | | binary trickle=1"]).stage(&[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let words = |stage: &Stage| explain(stage, "app", WRITE, OUTSIDE).ruling.to_string();
    assert_eq!(words(&stage), "passes with the leave of gate lag (6.0s of 5.0s; closed, 1/s; 0 wait)");
    let mut first = stage.login("app");
    assert!(matches!(first.ask(WRITE), crate::port::Verdict::Pass(_)), "the trickle's");
    let mut second = stage.login("app");
    let verdict = second.ask(WRITE);
    let waits = tokio::spawn(async move { second.finish(WRITE, verdict).await });
    tokio::task::yield_now().await;
    let explained = explain(&stage, "app", WRITE, OUTSIDE);
    assert_eq!(
        explained.ruling.to_string(),
        "held at gate lag (6.0s of 5.0s; closed, 1/s; 1 wait) for 3s at most, then refused"
    );
    let measured = explained.gates[0].measured.unwrap();
    assert_eq!((measured.waiting, measured.in_flight), (1, 1.0));
    stage.measure(&[("replication_lag", 1.0)]).await;
    waits.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_nobody_measures_and_what_nobody_has_measured_yet() {
    let stage = Setup::gated(&[LAG]).stage(&[]);
    let explained = explain(&stage, "app", WRITE, OUTSIDE);
    assert_eq!(explained.ruling.to_string(), "passes with the leave of gate replication_lag (not measured here)");
    assert_eq!((explained.gates[0].measured, explained.gates[0].does.clone()), (None, Does::NotMeasured));
    assert_eq!(reasons(&explained), [""; 0]);
    // Asked, and no answer yet.
    stage.measured(&[("replication_lag", health::Reading::Unknown(health::Unknown::Unreachable))]);
    let explained = explain(&stage, "app", WRITE, OUTSIDE);
    assert_eq!(
        explained.ruling.to_string(),
        "held at gate replication_lag (unknown: unreachable; waking; 0 wait) until it is measured, 1s at most"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_only_warns_is_told_apart() {
    let stage = Setup::gated(&["lag replication_lag 5 | | binary warn"]).stage(&["warned | user=etl | skip=lag warn"]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let explained = explain(&stage, "app", WRITE, OUTSIDE);
    assert_eq!(explained.ruling.to_string(), "passes: no rule decides");
    let would_be = explained.would_be.as_ref().map(ToString::to_string);
    let held = "held at gate lag (6.0s of 5.0s; closed; 0 wait) for 3s at most, then refused";
    assert_eq!(would_be.as_deref(), Some(held));
    assert_eq!(explained.gates[0].says(), "would wait 3s at most, then refused");
    assert_eq!(explained.refusal, None);
    let explained = explain(&stage, "etl", WRITE, OUTSIDE);
    assert_eq!((explained.would_be, explained.gates[0].says()), (None, "passes: warned skips it".to_owned()));
    stage.measure(&[("replication_lag", 1.0)]).await;
    assert_eq!(explain(&stage, "app", WRITE, OUTSIDE).would_be, None);
}

#[tokio::test(start_paused = true)]
async fn by_whose_words_a_gate_concerns_it() {
    let stage = Setup::gated(&["lag replication_lag 5 | tag.team=data | binary"]).stage(&[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let explained = explain(&stage, "app", "UPDATE t SET a = 1 /*team='data'*/", OUTSIDE);
    assert_eq!(explained.gates[0].concerns, Concerns::ByItsClaims);
    assert!(explained.ruling.stopped_at().is_some());
    let stage = Setup::gated(&["lag replication_lag 5 | !tag.team=data | binary"]).stage(&[]);
    stage.measure(&[("replication_lag", 6.0)]).await;
    let explained = explain(&stage, "app", "UPDATE t SET a = 1 /*team='data'*/", OUTSIDE);
    assert_eq!(explained.gates[0].concerns, Concerns::WithoutItsClaims);
    assert!(explained.ruling.stopped_at().is_some());
}

#[tokio::test(start_paused = true)]
async fn owners_of_what_concerns_gates() {
    let stage = Setup::gated(&[LAG]).stage(&[
        "t | user=app | threshold=replication_lag:2",
        "s | user=etl | skip=replication_lag",
        "w | scope=* | weight=3",
    ]);
    let owners = |who| explain(&stage, who, WRITE, OUTSIDE).owners;
    let thresholds = owners("app").thresholds;
    let thresholds: Vec<(&str, &str)> = thresholds.iter().map(|(gate, rule)| (&**gate, &**rule)).collect();
    assert_eq!(thresholds, [("replication_lag", "t")]);
    assert_eq!(owners("app").skip_gates, None);
    assert_eq!(owners("etl").skip_gates.as_deref(), Some("s"));
    assert_eq!(owners("etl").weight.as_deref(), Some("w"));
}

mod agreement;
