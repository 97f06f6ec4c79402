//! Statements of any bytes: tokens in order, and a translated KILL names the other connection and nothing else changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use statement::locks::LockState;
use statement::{Charset, Extent, Lexer, Mode, Server, kill, locks};

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
            _ => Server::MariaDb(101_106),
        },
    };
    tokens(sql, mode);
    kills(sql, mode);
    let mut state = LockState::default();
    state.apply(locks::effect(sql, mode));
    state.apply_failed(locks::effect(sql, mode));
    let _ = state.holds_any();
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
