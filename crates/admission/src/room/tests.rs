use super::*;

#[test]
fn a_user_has_a_quarter_of_the_room_or_what_one_client_may_have() {
    for (per_identity, total, per_user) in
        [(256, 10_000, 2500), (256, 1000, 256), (256, 100, 100), (0, 100, 25), (1, 0, 0)]
    {
        assert_eq!(Queue { per_identity, total }.per_user(), per_user, "{per_identity} of {total}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_seat_is_given_back_and_says_how_it_ended() {
    let room: Arc<Room> = Arc::default();
    let stats: Arc<ClientStats> = Arc::default();
    let bounds = Queue { per_identity: 2, total: 100 };
    let enter = || room.enter(b"app", &stats, &bounds, Instant::now());
    let (one, two) = (enter().unwrap(), enter().unwrap());
    assert!(enter().is_none());
    assert_eq!((room.count(), stats.counted().waiting, stats.counted().held), (2, 2, 2));
    tokio::time::advance(std::time::Duration::from_secs(1)).await;
    one.ends(End::Passed);
    two.ends(End::Rejected);
    drop(enter().unwrap());
    let counted = stats.counted();
    assert_eq!((counted.passed, counted.rejected, counted.left, counted.waiting), (1, 1, 1, 0));
    assert_eq!(counted.hold_time.as_secs(), 2);
    assert_eq!(room.count(), 0);
    assert!(room.lock().by_user.is_empty());
}
