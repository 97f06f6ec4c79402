//! `max_connections` over logins, changes of the user, reloads and hours.

use std::time::Duration;

use tokio::time::advance;

use crate::port::Admission;
use crate::refusal::Reason;
use crate::samples::BEGINNING;
use crate::stage::{Stage, Who, times};
use crate::stats::Effect;

const TWO: &str = "r | user=app | connections=2";

#[tokio::test(start_paused = true)]
async fn no_more_sessions_than_the_limit() {
    let stage = Stage::new(&[TWO]);
    let may_connect = || stage.keeper.may_connect(&Who::new("app").client());
    let one = stage.login("app");
    assert_eq!(may_connect(), Ok(()));
    assert_eq!(stage.keeper.used("r"), (0, 1), "who asks has not come in yet");
    let two = stage.login("app");
    let refusal = stage.try_login("app").err().unwrap();
    assert_eq!((refusal.code, &refusal.sqlstate), (1040, b"08004"));
    let words = "Too many connections [tollgate] rule=r reason=connections client=app retry_after_ms=1000 id=";
    assert!(refusal.message.starts_with(words), "{}", refusal.message);
    assert!(may_connect().unwrap_err().message.starts_with(words));
    stage.login("other");
    assert_eq!(stage.keeper.used("r"), (0, 2));
    drop(one);
    assert_eq!(may_connect(), Ok(()));
    let three = stage.login("app");
    drop((two, three));
    assert_eq!(stage.keeper.used("r"), (0, 0));
    assert_eq!(times(&stage.counted("app", "app"), "r", Reason::Connections, Effect::Rejected), 1);
}

/// Who has not logged in may call itself anything: nothing is remembered of it.
#[tokio::test(start_paused = true)]
async fn who_only_asks_leaves_no_trace() {
    let stage = Stage::new(&[TWO]);
    for number in 0..100 {
        stage.keeper.may_connect(&Who::new(&format!("user{number}")).client()).unwrap();
    }
    assert!(stage.keeper.clients().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_changed_user_changes_places() {
    let stage = Stage::new(&[TWO, "s | user=web | connections=1"]);
    let mut sessions = [stage.login("app"), stage.login("app")];
    let change = |session: &mut crate::stage::Session, user: &str| session.gate.changed_user(&Who::new(user).client());
    // The same user again needs no second place.
    change(&mut sessions[0], "app").unwrap();
    assert_eq!(stage.keeper.used("r"), (0, 2));
    change(&mut sessions[0], "web").unwrap();
    assert_eq!((stage.keeper.used("r"), stage.keeper.used("s")), ((0, 1), (0, 1)));
    let refusal = change(&mut sessions[1], "web").unwrap_err();
    assert!(refusal.message.contains("rule=s"), "{}", refusal.message);
    assert_eq!((stage.keeper.used("r"), stage.keeper.used("s")), ((0, 0), (0, 1)));
    drop(sessions);
    assert_eq!((stage.keeper.used("r"), stage.keeper.used("s")), ((0, 0), (0, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_comes_later_counts_those_who_are_there() {
    let stage = Stage::new(&[]);
    let mut sessions: Vec<_> = (0..5).map(|_| stage.login("app program_name=loader database=shop")).collect();
    for (rule, used) in [
        ("r | user=app | connections=4", 5),
        ("r | scope=loader | connections=4", 5),
        ("r | attr.program_name=loader schema=shop | connections=4", 5),
        ("r | schema=other | connections=4", 0),
        ("r | user=other | connections=4", 0),
        ("renamed | user=app | connections=4", 0),
    ] {
        stage.apply(&[rule]);
        assert_eq!(stage.keeper.used("r"), (0, used), "{rule}");
    }
    stage.apply(&["r | user=app | connections=4"]);
    // There are too many already: nobody is thrown out, and nobody is let in before two have left.
    for left in [5, 4, 3] {
        assert_eq!(stage.try_login("app").is_ok(), left < 4, "{left} are there");
        sessions.pop();
    }
    stage.apply(&[]);
    assert_eq!(stage.keeper.used("r"), (0, 0));
    stage.login("app");
}

#[tokio::test(start_paused = true)]
async fn hours_and_ends_count_too() {
    // It begins at 15:46:40; the hours end at 15:47.
    let stage =
        Stage::new(&["r | user=app | connections=1 active=900-947", "s | user=web | connections=1 expires=5000"]);
    let _app = stage.login("app");
    let _web = stage.login("web");
    assert!(stage.try_login("app").is_err() && stage.try_login("web").is_err());
    advance(Duration::from_secs(5)).await;
    assert!(stage.try_login("app").is_err() && stage.try_login("web").is_ok());
    assert_eq!((stage.keeper.used("r").1, stage.keeper.used("s").1), (1, 0));
    advance(Duration::from_secs(15)).await;
    assert_eq!(stage.keeper.now(), BEGINNING.plus(Duration::from_secs(20)));
    assert!(stage.try_login("app").is_ok());
    // At 15:00 on the next day they begin again, and find who is still there.
    advance(Duration::from_secs(86_400 - 20 - 46 * 60)).await;
    assert_eq!(stage.keeper.used("r").1, 1);
    assert!(stage.try_login("app").is_err());
}

#[tokio::test(start_paused = true)]
async fn added_limit_on_connections_never_loosens_another() {
    let (wide, narrow) = ("wide | user=app | connections=2", "narrow | user=app schema=shop | connections=9");
    for rules in [[wide, narrow], [narrow, wide]] {
        let stage = Stage::new(&rules[..1]);
        let _there: Vec<_> = (0..2).map(|_| stage.login("app database=shop")).collect();
        stage.apply(&rules);
        let refusal = stage.try_login("app database=shop").err().unwrap();
        assert!(refusal.message.contains("rule=wide"), "{}", refusal.message);
        assert_eq!((stage.keeper.used("wide").1, stage.keeper.used("narrow").1), (2, 2));
        stage.apply(&[wide, narrow, "r | user=app | connections=3 runtime override"]);
        let _third = stage.login("app database=shop");
        assert!(stage.try_login("app database=shop").is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn every_limit_that_concerns_it_has_a_place_for_it() {
    let stage = Stage::new(&["file | user=app | connections=9", "run | scope=* | connections=1 runtime"]);
    let one = stage.login("app");
    assert_eq!((stage.keeper.used("file").1, stage.keeper.used("run").1), (1, 1));
    let refusal = stage.try_login("app").err().unwrap();
    assert!(refusal.message.contains("rule=run"), "{}", refusal.message);
    assert_eq!((stage.keeper.used("file").1, stage.keeper.used("run").1), (1, 1));
    drop(one);
    assert_eq!((stage.keeper.used("file").1, stage.keeper.used("run").1), (0, 0));
}
