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
