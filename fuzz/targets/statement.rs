//! Statements of any bytes: tokens in order, a translated KILL names the other connection and nothing else changes, what is
//! scanned lies inside the text, and what is normalised stays what it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use statement::locks::LockState;
use statement::{Charset, Class, Doubt, Extent, Lexer, Mode, Outcome, Server, fingerprint, kill, locks, normalize, parse, scan};

fuzz_target!(|input: &[u8]| {
    let Some((&flags, sql)) = input.split_first() else { return };
    let mode = Mode {
        no_backslash_escapes: flags & 1 != 0,
        ansi_quotes: flags & 2 != 0,
        extent: if flags & 4 != 0 { Extent::Cut } else { Extent::Whole },
        charset: if flags & 32 != 0 { Charset::Ambiguous } else { Charset::Plain },
        server: match flags >> 3 & 3 {
            0 => Server::Unknown,
            1 => Server::MySql(90_704),
            2 => Server::MySql(50_700),
            _ => Server::MariaDb(101_118),
        },
    };
    tokens(sql, mode);
    kills(sql, mode);
    let mut state = LockState::default();
    state.apply(locks::effect(sql, mode));
    state.apply_failed(locks::effect(sql, mode));
    scanned(sql, mode, &state);
    normalised(sql, mode);
});

fn tokens(sql: &[u8], mode: Mode) {
    let mut end = 0;
    for token in Lexer::new(sql, mode) {
        assert!(token.start >= end && token.end > token.start && token.end <= sql.len(), "{token:?}");
        end = token.end;
    }
}

/// There and back again.
fn kills(sql: &[u8], mode: Mode) {
    let found: Vec<_> = kill::find(sql, mode).collect();
    let translated = kill::translate(sql, mode, |id| Some(id ^ 0x5555_5555));
    let Some(translated) = translated else {
        assert!(found.is_empty());
        return;
    };
    let again: Vec<_> = kill::find(&translated, mode).collect();
    assert_eq!(again.len(), found.len(), "{:?}", String::from_utf8_lossy(&translated));
    for (before, after) in found.iter().zip(&again) {
        assert_eq!((after.id, after.scope), (before.id ^ 0x5555_5555, before.scope));
    }
    let back = kill::translate(&translated, mode, |id| Some(id ^ 0x5555_5555)).expect("KILLs");
    let ids: Vec<_> = kill::find(&back, mode).map(|target| target.id).collect();
    assert!(ids.iter().eq(found.iter().map(|target| &target.id)));
}

fn scanned(sql: &[u8], mode: Mode, state: &LockState) {
    let found = scan(sql, mode);
    for range in [&found.leading, &found.trailing].into_iter().chain(&found.infix).chain(&found.schema) {
        assert!(range.start <= range.end && range.end <= sql.len(), "{found:?}");
    }
    assert!(!found.free || found.class.strictness() <= Class::Read.strictness(), "{found:?}");
    assert!(!(found.free && (found.takes_lock || found.doubt != Doubt::None)), "{found:?}");
    assert!(!found.takes_lock || found.class.locks_or_writes(), "{found:?}");
    assert!(mode.extent == Extent::Whole || found.class.locks_or_writes(), "{found:?}");
    assert!(!state.holds_any() || found.takes_lock, "{found:?}");
    // Statements before and after make no text milder.
    let more = [b"SELECT 1; ".as_slice(), sql].concat();
    if !sql.starts_with(b"\xEF\xBB\xBF") && found.statements < 255 {
        assert!(scan(&more, mode).class.strictness() >= found.class.strictness(), "{found:?}");
    }
    let parsed = parse(sql, mode);
    assert!(parsed.class.strictness() >= found.class.strictness(), "{found:?} {parsed:?}");
    if found.doubt == Doubt::Functions && (parsed.foreign_functions || parsed.outcome == Outcome::Failed) {
        assert!(parsed.class.locks_or_writes(), "{found:?} {parsed:?}");
    }
}

fn normalised(sql: &[u8], mode: Mode) {
    let _ = fingerprint(sql, mode);
    let normal = normalize(sql, mode, 300);
    assert!(normal.len() <= 300);
    assert!(normalize(sql, mode, 1 << 20).starts_with(normal.trim_end_matches('…')));
}
