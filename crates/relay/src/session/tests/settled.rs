//! A reply is settled when the upstream has ended it, before the client has read its end.

use std::time::Duration;

use wire::{Capabilities, put_lenenc_bytes};

use super::pair::{Bench, OK, PING, packet};

/// Less than any reply here: its last bytes wait in the session until the client reads.
const ROOM: usize = 8;

fn with_redirect() -> Vec<u8> {
    let (mut pair, mut state) = (Vec::new(), vec![0]);
    put_lenenc_bytes(&mut pair, b"redirect_url");
    put_lenenc_bytes(&mut pair, b"mysql://elsewhere:3306/");
    put_lenenc_bytes(&mut state, &pair);
    let mut ok = vec![0, 0, 0, 2, 0x40, 0, 0, 0];
    put_lenenc_bytes(&mut ok, &state);
    ok
}

/// Who has read that its COMMIT is done may ask for the place of its transaction on another connection at once.
#[tokio::test(start_paused = true)]
async fn before_the_client_has_read_it() {
    let without_redirect = [0, 0, 0, 2, 0, 0, 0, 0];
    for (capabilities, sent, due) in
        [(Capabilities::empty(), OK.to_vec(), OK), (Capabilities::SESSION_TRACK, with_redirect(), &without_redirect)]
    {
        let bench = Bench::new();
        let mut pair = bench.narrow_session(capabilities, ROOM);
        let command = packet(0, &[PING]);
        pair.client_sends(&command).await;
        pair.upstream_gets(&command).await;
        assert_eq!(bench.gate.settled(), 0);
        pair.upstream_sends(&packet(1, &sent)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(bench.gate.settled(), 1);
        pair.client_gets(&packet(1, due)).await;
        pair.is_in_sync().await;
        assert_eq!(bench.gate.settled(), 2);
    }
}
