//! Statements of any bytes: tokens in order, a translated KILL names the other connection and nothing else changes, what is
//! scanned lies inside the text, and what is normalised stays what it is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use statement::locks::LockKnowledge;
use statement::{Charset, Class, Doubts, Extent, Lexer, Mode, Outcome, ParseCache, Server, fingerprint, kill, normalize, scan};

fuzz_target!(|input: &[u8]| {
    let Some((&flags, sql)) = input.split_first() else { return };
    let mode = Mode {
        no_backslash_escapes: flags & 1 != 0,
        ansi_quotes: flags & 2 != 0,
        extent: if flags & 4 != 0 { Extent::Cut } else { Extent::Whole },
        brackets: false,
        charset: match flags >> 5 {
            0 | 1 => Charset::Utf8,
            2 => Charset::Latin,
            3 => Charset::Gbk,
            4 => Charset::Swe7,
            5 => Charset::Gb18030,
            _ => Charset::Unknown,
        },
        server: match flags >> 3 & 3 {
            0 => Server::Unknown,
            1 => Server::MySql(90_704),
            2 => Server::MySql(50_700),
            _ => Server::MariaDb(101_118),
        },
    };
    tokens(sql, mode);
    kills(sql, mode);
    let mut state = LockKnowledge::default();
    state.settle(scan(sql, mode).locks, true);
    state.settle(scan(sql, mode).locks, false);
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
    let found = scan(sql, mode).kills(sql);
    let translated = kill::translate(sql, &found, |id| Some(id ^ 0x5555_5555));
    let Some(translated) = translated else {
        assert!(found.is_empty());
        return;
    };
    let again = scan(&translated, mode).kills(&translated);
    assert_eq!(again.len(), found.len(), "{:?}", String::from_utf8_lossy(&translated));
    for (before, after) in found.iter().zip(&again) {
        assert_eq!((after.id, after.scope), (before.id ^ 0x5555_5555, before.scope));
    }
    let back = kill::translate(&translated, &again, |id| Some(id ^ 0x5555_5555)).expect("KILLs");
    let ids: Vec<_> = scan(&back, mode).kills(&back).iter().map(|target| target.id).collect();
    assert!(ids.iter().eq(found.iter().map(|target| &target.id)));
}

fn scanned(sql: &[u8], mode: Mode, state: &LockKnowledge) {
    let found = scan(sql, mode);
    for range in [&found.leading, &found.trailing].into_iter().chain(&found.infix).chain(&found.schema) {
        assert!(range.start <= range.end && range.end <= sql.len(), "{found:?}");
    }
    assert!(!found.free || found.class.strictness() <= Class::Read.strictness(), "{found:?}");
    assert!(!(found.free && (found.takes_lock || found.doubts.contains(Doubts::FUNCTIONS))), "{found:?}");
    assert!(!found.takes_lock || found.class.locks_or_writes(), "{found:?}");
    assert!(mode.extent == Extent::Whole || found.class.locks_or_writes(), "{found:?}");
    assert!(!state.may_hold_any() || found.takes_lock, "{found:?}");
    // Statements before and after make no text milder.
    let more = [b"SELECT 1; ".as_slice(), sql].concat();
    if !sql.starts_with(b"\xEF\xBB\xBF") && found.statements < 255 {
        assert!(scan(&more, mode).class.strictness() >= found.class.strictness(), "{found:?}");
    }
    let parsed = ParseCache::new().get_or_parse(&found, sql);
    if found.doubts.contains(Doubts::FUNCTIONS) && (parsed.foreign_functions || parsed.outcome == Outcome::Failed) {
        let classes = found.classes_with(&parsed);
        assert!(!parsed.foreign_functions || classes.iter().any(Class::locks_or_writes), "{found:?} {parsed:?}");
    }
    let fingerprints = found.fingerprints(sql);
    assert!(!fingerprints.is_complete() || fingerprints.iter().next().is_some(), "{found:?}");
}

fn normalised(sql: &[u8], mode: Mode) {
    let _ = fingerprint(sql, mode);
    let normal = normalize(sql, mode, 300);
    assert!(normal.len() <= 300);
    assert!(normalize(sql, mode, 1 << 20).starts_with(normal.trim_end_matches('…')));
}
