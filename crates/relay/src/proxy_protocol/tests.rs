use super::*;

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn between(source: &str, destination: &str) -> Header {
    Header { source: Some(addr(source)), destination: Some(addr(destination)) }
}

const NOBODY: Header = Header { source: None, destination: None };

fn v2(command: u8, family: u8, announced: u16, body: &[u8]) -> Vec<u8> {
    let mut out = V2_SIGNATURE.to_vec();
    out.extend_from_slice(&[command, family]);
    out.extend_from_slice(&announced.to_be_bytes());
    out.extend_from_slice(body);
    out
}

const V4_BODY: [u8; 12] = [192, 0, 2, 1, 198, 51, 100, 2, 0xC3, 0x50, 0x0C, 0xEA];

/// Every header that must be read, with what it says.
fn good() -> Vec<(Vec<u8>, Header)> {
    let v4 = between("192.0.2.1:50000", "198.51.100.2:3306");
    let v6 = between("[2001:db8::1]:50000", "[2001:db8::2]:3306");
    let longest = format!("PROXY UNKNOWN {}\r\n", "f".repeat(MAX_V1_LENGTH - 16));
    assert_eq!(longest.len(), MAX_V1_LENGTH);
    let mut with_tlvs = V4_BODY.to_vec();
    with_tlvs.extend_from_slice(b"\x02\x00\x0bexample.com\x04\x00\x01\x00");
    let mut full = V4_BODY.to_vec();
    full.resize(MAX_V2_BODY, 0);
    vec![
        (b"PROXY TCP4 192.0.2.1 198.51.100.2 50000 3306\r\n".to_vec(), v4),
        (b"PROXY TCP6 2001:db8::1 2001:db8::2 50000 3306\r\n".to_vec(), v6),
        // A balancer that listens on [::] writes its IPv4 clients so.
        (b"PROXY TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 50000 3306\r\n".to_vec(), v4),
        (b"PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n".to_vec(), between("0.0.0.0:0", "255.255.255.255:65535")),
        (b"PROXY UNKNOWN\r\n".to_vec(), NOBODY),
        (b"PROXY UNKNOWN \xff what ever\r\n".to_vec(), NOBODY),
        (longest.into_bytes(), NOBODY),
        (v2(0x21, 0x11, 12, &V4_BODY), v4),
        (v2(0x21, 0x11, 30, &with_tlvs), v4),
        (v2(0x21, 0x11, 1024, &full), v4),
        (encode_v2(addr("192.0.2.1:50000"), addr("198.51.100.2:3306")), v4),
        (encode_v2(addr("[2001:db8::1]:50000"), addr("[2001:db8::2]:3306")), v6),
        (encode_v2(addr("[::ffff:192.0.2.1]:50000"), addr("198.51.100.2:3306")), v4),
        (encode_v2(addr("192.0.2.1:1"), addr("[2001:db8::2]:2")), between("192.0.2.1:1", "[2001:db8::2]:2")),
        (v2(0x20, 0x00, 0, b""), NOBODY),
        // LOCAL with addresses, and with a family that nobody knows: disregarded.
        (v2(0x20, 0x11, 12, &V4_BODY), NOBODY),
        (v2(0x20, 0xFF, 3, b"abc"), NOBODY),
        (v2(0x21, 0x00, 5, b"abcde"), NOBODY),
        (v2(0x21, 0x31, 216, &[7; 216]), NOBODY),
    ]
}

#[test]
fn reads_headers_whole_truncated_and_followed_by_more() {
    for (bytes, expected) in good() {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(decode(&bytes), Ok(Some((expected, bytes.len()))), "{shown:?}");
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Ok(None), "{shown:?} cut at {cut}");
        }
        let mut followed = bytes.clone();
        followed.extend_from_slice(b"\x01\x00\x00\x00\x0e\r\n");
        assert_eq!(decode(&followed), Ok(Some((expected, bytes.len()))), "{shown:?} and more");
    }
}

#[test]
fn refuses_what_is_no_header() {
    use ProxyProtocolError::*;
    let check = |bytes: &[u8], expected| assert_eq!(decode(bytes), Err(expected), "{bytes:?}");
    check(b"\x20\x00\x00\x01", Missing);
    check(b"X", Missing);
    check(b"PROXZ", Missing);
    check(b"PROXYTCP4 ", Missing);
    check(b"\r\n\r\n\0\r\nQUIT\r", Missing);
    check(b"PROXY \n", V1Malformed("it does not end in CRLF"));
    check(b"PROXY UNKNOWN\n", V1Malformed("it does not end in CRLF"));
    check(b"PROXY TCP4\r\n", V1Malformed("a field is missing"));
    check(b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", V1Malformed("a field is missing"));
    check(b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2 3\r\n", V1Malformed("it has too many fields"));
    for line in [&b"PROXY \r\n"[..], b"PROXY  TCP4 1.2.3.4 5.6.7.8 1 2\r\n", b"PROXY UDP4 1.2.3.4 5.6.7.8 1 2\r\n"] {
        check(line, V1Malformed("the protocol is none of TCP4, TCP6, UNKNOWN"));
    }
    for line in [
        &b"PROXY TCP4 1.2.3.256 5.6.7.8 1 2\r\n"[..],
        b"PROXY TCP4 ::1 ::1 1 2\r\n",
        b"PROXY TCP6 1.2.3.4 5.6.7.8 1 2\r\n",
        b"PROXY TCP4 1.2.3.4  5.6.7.8 1 2\r\n",
    ] {
        check(line, V1Malformed("an address is not one of its family"));
    }
    for port in ["65536", "-1", "+1", "", "0x1"] {
        let line = format!("PROXY TCP4 1.2.3.4 5.6.7.8 {port} 2\r\n");
        check(line.as_bytes(), V1Malformed("a port is not a number up to 65535"));
    }
    check(b"PROXY TCP4 1.2.3.4\xff 5.6.7.8 1 2\r\n", V1Malformed("it is not ASCII"));
    check(&v2(0x21, 0x12, 12, &V4_BODY), V2UnknownFamily(0x12));
    check(&v2(0x21, 0x41, 12, &V4_BODY), V2UnknownFamily(0x41));
    check(&v2(0x22, 0x11, 12, &V4_BODY), V2UnknownCommand(0x22));
    check(&v2(0x11, 0x11, 12, &V4_BODY), V2UnknownCommand(0x11));
}

#[test]
fn lying_lengths_are_refused_as_soon_as_they_are_known() {
    use ProxyProtocolError::*;
    assert_eq!(decode(&v2(0x21, 0x11, 1025, b"")), Err(V2TooLong(1025)));
    assert_eq!(decode(&v2(0x20, 0x00, u16::MAX, b"")), Err(V2TooLong(u16::MAX)));
    for (family, needed) in [(0x11, 12), (0x21, 36), (0x31, 216)] {
        let announced = needed - 1;
        assert_eq!(decode(&v2(0x21, family, announced, b"")), Err(V2TooShort { announced, needed }));
    }
    let endless = [b"PROXY UNKNOWN ".as_slice(), &[b'a'; 200]].concat();
    assert_eq!(decode(&endless[..MAX_V1_LENGTH - 1]), Ok(None));
    assert_eq!(decode(&endless[..MAX_V1_LENGTH]), Err(V1TooLong));
    let late = [&endless[..MAX_V1_LENGTH - 1], b"\r\n"].concat();
    assert_eq!(decode(&late), Err(V1TooLong));
}

#[test]
fn no_bytes_make_it_panic_or_claim_more_than_there_is() {
    // A small generator instead of a crate: every run tries the same bytes.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let seeds = good();
    for _ in 0..200_000 {
        let (mut bytes, _) = seeds[random() as usize % seeds.len()].clone();
        for _ in 0..=random() % 3 {
            let at = random() as usize % bytes.len();
            bytes[at] = random() as u8;
        }
        bytes.truncate(1 + random() as usize % bytes.len());
        if let Ok(Some((_, length))) = decode(&bytes) {
            assert!(length <= bytes.len());
        }
    }
}

#[test]
fn trusts_listed_networks_in_either_spelling() {
    let trusted = Trusted { nets: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()] };
    for (peer, expected) in [
        ("10.1.2.3", true),
        ("::ffff:10.1.2.3", true),
        ("11.1.2.3", false),
        ("::ffff:11.1.2.3", false),
        ("2001:db8::7", true),
        ("2001:db9::7", false),
        ("::10.1.2.3", false),
    ] {
        assert_eq!(trusted.contains(peer.parse().unwrap()), expected, "{peer}");
    }
    assert!(!Trusted::default().contains("127.0.0.1".parse().unwrap()));
}
