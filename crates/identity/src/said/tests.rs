use crate::{Said, limits, read_comments};

fn with<'a>(comment: &'a [u8], attributes: &[(&'a [u8], &'a [u8])]) -> Said<'a> {
    read_comments(b"", comment, None).with_query_attributes(attributes.iter().copied())
}

#[test]
fn query_attributes_are_bounded() {
    let long = [b'v'; limits::VALUE + 1];
    let said = with(b"", &[(b"a", b"1"), (b"", b"2"), (b"b c", b"3"), (b"d", b""), (b"e", &long), (b"f", b"\xFF")]);
    assert_eq!(said.query_attributes().collect::<Vec<_>>(), [(&b"a"[..], &b"1"[..])]);

    let keys: Vec<String> = (0..33).map(|n| format!("k{n}")).collect();
    let many: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (key.as_bytes(), &b"v"[..])).collect();
    assert_eq!(with(b"", &many[..32]).query_attributes().count(), 32);
    let excess = with(b"/*a='1'*/", &many);
    assert_eq!((excess.query_attributes().count(), excess.tags().count(), excess.conflicts()), (0, 1, 1));
}

#[test]
fn a_trace_may_be_a_query_attribute() {
    let said = with(b"/*traceparent='00-1-1-1'*/", &[(b"traceparent", b"00-2-2-2"), (b"tracestate", b"x=y")]);
    assert_eq!(said.traceparent(), Some(&b"00-2-2-2"[..]));
    assert!(said.is_empty());
    assert_eq!(with(b"/*traceparent='00-1-1-1'*/", &[(b"traceparent", b"?")]).traceparent(), Some(&b"00-1-1-1"[..]));
}

#[test]
fn keys_tell_what_differs() {
    let said: [Said<'_>; 12] = [
        with(b"", &[]),
        with(b"/*a='1'*/", &[]),
        with(b"/*a='2'*/", &[]),
        with(b"/*b='1'*/", &[]),
        with(b"/*a='1',b='1'*/", &[]),
        with(b"/*a='1b='*/", &[]),
        with(b"/* gh-ost */", &[]),
        with(b"/* pt-kill */", &[]),
        with(b"/* gh-ost */ /* pt-kill */", &[]),
        with(b"", &[(b"a", b"1")]),
        with(b"/*a='1'*/", &[(b"a", b"1")]),
        with(b"/*vt+ PRIORITY=1 */", &[]),
    ];
    for (at, one) in said.iter().enumerate() {
        for (other_at, other) in said.iter().enumerate() {
            assert_eq!(one.key() == other.key(), at == other_at, "{at} {other_at}");
        }
        assert_eq!(one.is_empty(), at == 0);
        assert_eq!(one.clone().key(), one.key());
    }
    // Where a comment stands makes no difference.
    assert_eq!(read_comments(b"/*a='1'*/", b"", None).key(), read_comments(b"", b" /* a='1' */ ;", None).key());
}

#[test]
fn what_nobody_looks_at_can_be_left_out() {
    let said = |id: &'static [u8]| {
        let mut said = with(id, &[(b"id", id), (b"job", b"etl")]);
        said.retain(|key| key == b"app", |key| key == b"job");
        said
    };
    let (one, other) = (said(b"/*app='x',request_id='1'*/"), said(b"/*request_id='2',app='x'*/"));
    assert_eq!(one.key(), other.key());
    assert_eq!((one.tags().count(), one.query_attributes().count()), (1, 1));
    let mut nothing = with(b"/*request_id='1'*/", &[]);
    nothing.retain(|_| false, |_| false);
    assert!(nothing.is_empty());
}

#[test]
fn what_is_kept_has_no_trace_and_no_attributes() {
    let said = with(b"/*a='1%20'*/ /*gh-ost*/ /*traceparent='00-1'*/", &[(b"q", b"1")]);
    let kept = said.to_owned();
    let again = kept.said();
    assert_eq!((again.traceparent(), again.query_attributes().count()), (None, 0));
    assert_eq!(again.tags().collect::<Vec<_>>(), said.tags().collect::<Vec<_>>());
    assert_eq!(again.tool(), Some(&b"gh-ost"[..]));
    assert_eq!(again.with_query_attributes([(&b"q"[..], &b"1"[..])]).key(), said.key());
    assert!(crate::Kept::default().said().is_empty());
}
