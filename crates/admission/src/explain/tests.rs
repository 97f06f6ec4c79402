use super::*;
use crate::samples::BEGINNING;
use crate::stage::{At, Setup, Stage, Who};

const OUTSIDE: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };
const WITHIN: SessionState = SessionState { in_transaction: true, ..OUTSIDE };
const LOCKING: SessionState = SessionState { holds_locks: true, ..OUTSIDE };

fn explain(stage: &Stage, who: &str, sql: &str, state: SessionState) -> Explanation {
    stage.keeper.explain(&Who::new(who).client(), sql.as_bytes(), Mode::default(), state, &[])
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
            "passes with a place under limit (1 of 4 taken; it waits 3s at most)",
            Some("concurrency"),
        ),
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
    assert_eq!(explained.fingerprint, statement::fingerprint(sql.as_bytes(), Mode::default()));
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
    let explained = stage.keeper.explain(&who.client(), b"SELECT * FROM t", Mode::default(), OUTSIDE, &attributes);
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
