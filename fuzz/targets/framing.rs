//! Headers: the PROXY protocol's, and those of packets that pass unseen. The cuts must not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relay::proxy_protocol::{self, MAX_V1_LENGTH, MAX_V2_BODY};
use wire::packet::{HEADER_LENGTH, Header, Passage, put_packet};

fuzz_target!(|input: &[u8]| {
    let Some((&[which, chunk], bytes)) = input.split_first_chunk::<2>() else { return };
    if which % 2 == 0 {
        header(bytes);
    } else {
        passage(bytes, usize::from(chunk).max(1));
    }
});

/// Every beginning of a header needs more, every longer text has the same header, and errors do not go away.
fn header(bytes: &[u8]) {
    let decoded = proxy_protocol::decode(bytes);
    for length in 0..bytes.len().min(300) {
        match proxy_protocol::decode(&bytes[..length]) {
            Ok(None) => assert!(length < 16 + MAX_V2_BODY),
            earlier => assert_eq!(earlier, decoded, "at {length}"),
        }
    }
    match decoded {
        Ok(Some((header, length))) => {
            assert!(length <= bytes.len() && length <= (16 + MAX_V2_BODY).max(MAX_V1_LENGTH));
            if let (Some(source), Some(destination)) = (header.source, header.destination) {
                let written = proxy_protocol::encode_v2(source, destination);
                assert_eq!(proxy_protocol::decode(&written), Ok(Some((header, written.len()))));
            }
        }
        Ok(None) => assert!(bytes.len() < 16 + MAX_V2_BODY),
        Err(_) => {}
    }
}

fn passage(bytes: &[u8], chunk: usize) {
    let mut whole = Passage::new();
    let length = whole.advance(bytes);
    assert!(length <= bytes.len());

    let (mut cut, mut from, mut to) = (Passage::new(), 0, 0);
    while !cut.is_done() && to < bytes.len() {
        to = (to + chunk).min(bytes.len());
        from += cut.advance(&bytes[from..to]);
    }
    assert_eq!((cut, from), (whole, length));

    if let Some(Header { sequence, .. }) = Header::read(bytes) {
        let payload = &bytes[HEADER_LENGTH..];
        let mut written = Vec::new();
        put_packet(&mut written, sequence, payload);
        let mut again = Passage::new();
        assert_eq!(again.advance(&written), written.len());
        assert!(again.is_done() && again.passed == payload.len() as u64 && again.sequence == sequence);
    }
}
