//! A client that leaves in the middle of its reply: the upstream is still at work, and so the permit is still out.

use std::time::Duration;

use wire::Capabilities;

use super::pair::{Bench, packet};

/// Behind the whole packets so many bytes of the next have come when the client leaves.
#[tokio::test(start_paused = true)]
async fn the_permit_is_kept_until_the_upstream_has_ended_the_reply() {
    let begin = [packet(1, &[1]), packet(2, b"\x03def"), packet(3, &[0xFE, 0, 0, 2, 0]), packet(4, b"\x011")].concat();
    let rest = [packet(5, b"\x012"), packet(6, &[0xFE, 0, 0, 2, 0])].concat();
    for cut in 0..rest.len() {
        let bench = Bench::new();
        let mut pair = bench.session(Capabilities::empty());
        let command = packet(0, b"\x03SELECT SLEEP(1) FROM t");
        pair.client_sends(&command).await;
        pair.upstream_gets(&command).await;
        pair.upstream_sends(&[&begin, &rest[..cut]].concat()).await;
        pair.client_gets(&begin).await;
        pair.leaves();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((bench.gate.permits(), bench.gate.settled()), (1, 0), "cut at {cut}");
        pair.upstream_sends(&rest[cut..]).await;
        pair.session_ends().await;
        // Had it been a write, it would be committed all the same.
        assert_eq!((bench.gate.permits(), bench.gate.settled()), (0, 1), "cut at {cut}");
    }
}
