//! Comments of any bytes: what is read of them is within the limits, kept as it was, and changes nobody who is trusted.
#![no_main]

use std::sync::Arc;

use identity::{Connection, Name, Said, Settings, of_connection, of_query, read_comments};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&[first, second], text)) = input.split_first_chunk() else { return };
    // Two cuts make three texts.
    let cut = |at: u8, text: &[u8]| usize::from(at) * text.len() / 255;
    let (leading, rest) = text.split_at(cut(first, text));
    let (infix, trailing) = rest.split_at(cut(second, rest));

    let said = read_comments(leading, trailing, (!infix.is_empty()).then_some(infix));
    within_limits(&said);
    kept(&said);
    nobody_trusted_changes(&said);
    anywhere(leading);
    cut_off(trailing);
});

fn within_limits(said: &Said) {
    assert!(said.tags().count() <= 32);
    for (key, value) in said.tags() {
        assert!((1..=64).contains(&key.len()) && key.is_ascii(), "{key:?}");
        assert!((1..=256).contains(&value.len()), "{value:?}");
        let text = std::str::from_utf8(&value).expect("text");
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    assert!(said.traceparent().is_none_or(|trace| trace.is_ascii() && trace.len() <= 128));
}

fn kept(said: &Said) {
    let kept = said.to_owned();
    let again = kept.said();
    assert_eq!((again.key(), again.tool(), again.is_empty()), (said.key(), said.tool(), said.is_empty()));
    assert!(again.tags().eq(said.tags()));
}

fn nobody_trusted_changes(said: &Said) {
    let settings = Settings::default();
    let listener = Arc::from("main");
    let connection =
        Connection { user: b"etl", address: None, certificate: None, listener: &listener, attributes: &[] };
    let connection = of_connection(&settings, &connection);
    let query = of_query(&settings, &connection, said);
    assert_eq!(query.trusted.as_ref().unwrap_or(&query.claimed), &connection.claimed);
    let name = &query.claimed.name;
    assert!(name.as_str().len() <= 256 && name.parts().last() == Some("etl"), "{name}");
    assert!(name.parts().all(|part| part != Name::UNATTRIBUTED && part != Name::OVERFLOW), "{name}");
}

/// In front or behind, the same comments say the same.
fn anywhere(comments: &[u8]) {
    let comments = &comments[..comments.len().min(4096)];
    assert_eq!(read_comments(comments, b"", None).key(), read_comments(b"", comments, None).key());
}

/// What is not closed says nothing, and takes nothing away.
fn cut_off(comments: &[u8]) {
    let more = [comments, b" /*app='x'"].concat();
    if more.len() <= 4096 {
        assert_eq!(read_comments(b"", &more, None).key(), read_comments(b"", comments, None).key());
    }
}
