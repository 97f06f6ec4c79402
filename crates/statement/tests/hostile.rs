//! Whatever the bytes: no panic, tokens in order and inside the text, and the cheap looks never disagree with the lexer.

use statement::{Charset, Extent, Kind, Lexer, Mode, Server, kill, program, scan};

/// xorshift: seeded, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

const PIECES: [&[u8]; 46] = [
    b"KILL",
    b"kill ",
    b"QUERY ",
    b"5",
    b"-",
    b"--",
    b"-- ",
    b"#",
    b"\n",
    b" ",
    b"\x0b",
    b"\0",
    b";",
    b"/*",
    b"*/",
    b"/*!",
    b"/*!50000",
    b"/*!99999 ",
    b"/*M!",
    b"'",
    b"\"",
    b"`",
    b"\\",
    b"x'",
    b"N'",
    b"0x",
    b"1e",
    b".",
    b"@",
    b"@@",
    b"(",
    b")",
    b"\xEF\xBB\xBF",
    b"\xFF",
    b"LOCK ",
    b"TABLES ",
    b"FLUSH ",
    b"WITH READ LOCK",
    b"GET_LOCK",
    b"release_lock",
    b"SELECT ",
    b"CREATE ",
    b"EVENT ",
    b"DEFINER=",
    b"BEGIN",
    b"EXPLAIN ",
];

fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.below(24) {
        if random.below(8) == 0 {
            text.push(u8::try_from(random.below(256)).unwrap());
        } else {
            text.extend_from_slice(PIECES[random.below(PIECES.len())]);
        }
    }
    text
}

fn modes() -> Vec<Mode> {
    let mut modes = Vec::new();
    for server in [Server::Unknown, Server::MySql(90_704), Server::MariaDb(101_106)] {
        for extent in [Extent::Whole, Extent::Cut] {
            for bits in 0..4 {
                modes.push(Mode {
                    no_backslash_escapes: bits & 1 == 1,
                    ansi_quotes: bits & 2 == 2,
                    brackets: false,
                    server,
                    extent,
                    charset: Charset::Plain,
                });
            }
        }
    }
    modes
}

#[test]
fn any_bytes() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let modes = modes();
    for round in 0..100_000 {
        let sql = text(&mut random);
        let mode = modes[random.below(modes.len())];
        let context = || format!("round {round}, {mode:?}: {:?}", String::from_utf8_lossy(&sql));
        let mut end = 0;
        for token in Lexer::new(&sql, mode) {
            assert!(end <= token.start && token.start < token.end && token.end <= sql.len(), "{}", context());
            end = token.end;
        }
        let effects = program::effects(&sql, mode);
        assert!(effects.names.len() <= program::MOST_NAMES && effects.calls.len() <= program::MOST_NAMES);
        let targets: Vec<_> = scan(&sql, mode).kills(&sql);
        let mut end = 0;
        for target in &targets {
            assert!(end <= target.digits.start && target.digits.end <= sql.len(), "{}", context());
            assert!(!target.digits.is_empty(), "{}", context());
            end = target.digits.end;
        }
        check_translation(&sql, mode, &targets, context);
        if round % 20 == 0 {
            check_cut(&sql, mode, &targets, context);
        }
    }
}

/// The translated text has the same targets, with the new ids.
fn check_translation(sql: &[u8], mode: Mode, targets: &[kill::KillTarget], context: impl Fn() -> String) {
    let translated = kill::translate(sql, targets, |id| Some(id ^ 0x8000_0000));
    assert_eq!(translated.is_some(), !targets.is_empty(), "{}", context());
    if let Some(translated) = translated {
        let new: Vec<u32> =
            scan(&translated, mode).kills(&translated).iter().map(|target| target.id ^ 0x8000_0000).collect();
        let old: Vec<u32> = targets.iter().map(|target| target.id).collect();
        assert_eq!(new, old, "{} became {:?}", context(), String::from_utf8_lossy(&translated));
    }
}

/// Of the first bytes nothing is said that the whole text does not say too.
fn check_cut(sql: &[u8], mode: Mode, targets: &[kill::KillTarget], context: impl Fn() -> String) {
    if mode.extent == Extent::Whole {
        let cut = Mode { extent: Extent::Cut, ..mode };
        for length in 0..=sql.len() {
            for target in scan(&sql[..length], cut).kills(&sql[..length]) {
                assert!(targets.contains(&target), "cut at {length}: {}", context());
            }
        }
    }
}

#[test]
fn long_texts_take_linear_time() {
    for piece in [
        "/*",
        "/*!",
        "/*!99999 /*",
        "'",
        "'\\",
        "`",
        "\"",
        ";",
        "; /",
        "; /*",
        "--",
        "-- ",
        "@`",
        "x'",
        "_get_lock(",
        "KILL -",
        "CREATE DEFINER=",
        "1.e",
    ] {
        let sql = piece.repeat((1 << 20) / piece.len());
        let mode = Mode::default();
        assert!(Lexer::new(sql.as_bytes(), mode).count() <= sql.len());
        assert!(scan(sql.as_bytes(), mode).kills(sql.as_bytes()).len() <= sql.len());
        let _ = program::effects(sql.as_bytes(), mode);
    }
    let spaces = format!(";{}", " ;".repeat(1 << 19));
    assert!(!Lexer::new(spaces.as_bytes(), Mode::default()).any(|token| token.kind == Kind::Word));
    assert!(scan(spaces.as_bytes(), Mode::default()).locks.is_none());
}
