use super::*;
use crate::stage::{At, Stage};

#[tokio::test(start_paused = true)]
async fn a_policy_with_an_old_number_is_seen_all_the_same() {
    let stage = Stage::new(&[]);
    let mut session = stage.login("app");
    for (generation, rules, expected) in [
        (7, &["r | scope=* | ratio=1 reject"][..], At::Refused),
        (7, &[], At::Once),
        (3, &["r | scope=* | ratio=1 reject"], At::Refused),
    ] {
        stage.keeper.apply(stage.setup.policy(generation, rules));
        assert_eq!(session.at("SELECT * FROM t").await, expected, "generation {generation}");
    }
    assert_eq!(stage.keeper.policy().generation, 9);
}

#[tokio::test(start_paused = true)]
async fn the_dice_of_sessions_differ_and_the_seed_decides_them() {
    let rolls = |seed: u64| {
        let keeper = Gatekeeper::new(
            crate::stage::Setup::default().policy(1, &[]),
            Box::new(|| crate::samples::BEGINNING),
            seed,
        );
        [keeper.dice().random::<u64>(), keeper.dice().random(), keeper.dice().random()]
    };
    assert_eq!(rolls(1), rolls(1));
    assert_ne!(rolls(1), rolls(2));
    let [one, two, three] = rolls(1);
    assert!(one != two && two != three);
}

/// 2,500 names of one user are remembered; after a minute the idle ones leave for new ones.
#[tokio::test(start_paused = true)]
async fn what_forgotten_clients_asked_stays_in_the_sums() {
    let stage = Stage::new(&["r | user=app | ratio=1 reject"]);
    let mut session = stage.login("app");
    let sums = || {
        let (clients, forgotten) = stage.keeper.clients_and_forgotten();
        let all: Vec<Counted> = clients.into_iter().map(|(_, counted)| counted).chain([forgotten.counted]).collect();
        let by_rule: u64 = all.iter().flat_map(|counted| &counted.by_rule).map(|(_, _, _, count)| count).sum();
        (all.iter().map(|counted| counted.seen).sum::<u64>(), by_rule)
    };
    for round in 0..2 {
        for n in 0..2400 {
            assert_eq!(session.at(&format!("SELECT * FROM t /* app:name-{round}-{n} */")).await, At::Refused);
        }
        tokio::time::advance(Duration::from_secs(61)).await;
    }
    assert!(stage.keeper.client_counts().left > 1000, "{:?}", stage.keeper.client_counts());
    assert_eq!(sums(), (4800, 4800));
}
